// Helpers of generated kernels. Everything is spelt out so that no header is needed.
typedef signed char gl_i8;
typedef unsigned char gl_u8;
typedef short gl_i16;
typedef unsigned short gl_u16;
typedef int gl_i32;
typedef unsigned int gl_u32;
typedef long long gl_i64;
typedef unsigned long long gl_u64;

__device__ __forceinline__ float gl_of_f16(gl_u16 h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
__device__ __forceinline__ gl_u16 gl_to_f16(float f) {
    gl_u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
__device__ __forceinline__ float gl_of_bf16(gl_u16 h) { return __uint_as_float((gl_u32)h << 16); }
__device__ __forceinline__ gl_u16 gl_to_bf16(float f) {
    gl_u32 b = __float_as_uint(f);
    return f != f ? (gl_u16)((b >> 16) | 0x40) : (gl_u16)((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}
// The nearest float whose last bit is 1, unless x is a float: rounding it once more rounds x itself.
__device__ __forceinline__ float gl_odd(double x) {
    float f = __double2float_rn(x);
    gl_u32 b = __float_as_uint(f);
    if ((double)f == x || x != x) return f;
    if (fabs((double)f) > fabs(x)) b -= 1;
    return __uint_as_float(b | 1);
}

// Floats to integers: truncated, saturated, NaN is 0.
__device__ __forceinline__ gl_i64 gl_trunc(double x, double lo, double hi) {
    return x != x ? 0 : (gl_i64)fmin(fmax(x, lo), hi);
}
__device__ __forceinline__ gl_i64 gl_to_i64(double x) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return 0x7fffffffffffffffll;
    if (x < -9223372036854775808.0) return -0x7fffffffffffffffll - 1;
    return (gl_i64)x;
}
__device__ __forceinline__ gl_u64 gl_to_u64(double x) {
    if (!(x > 0.0)) return 0;
    return x >= 18446744073709551616.0 ? 0xffffffffffffffffull : (gl_u64)x;
}

// Integers wrap.
__device__ __forceinline__ gl_i32 gl_add(gl_i32 a, gl_i32 b) { return (gl_i32)((gl_u32)a + (gl_u32)b); }
__device__ __forceinline__ gl_i64 gl_add(gl_i64 a, gl_i64 b) { return (gl_i64)((gl_u64)a + (gl_u64)b); }
__device__ __forceinline__ gl_u64 gl_add(gl_u64 a, gl_u64 b) { return a + b; }
__device__ __forceinline__ gl_i32 gl_sub(gl_i32 a, gl_i32 b) { return (gl_i32)((gl_u32)a - (gl_u32)b); }
__device__ __forceinline__ gl_i64 gl_sub(gl_i64 a, gl_i64 b) { return (gl_i64)((gl_u64)a - (gl_u64)b); }
__device__ __forceinline__ gl_u64 gl_sub(gl_u64 a, gl_u64 b) { return a - b; }
__device__ __forceinline__ gl_i32 gl_mul(gl_i32 a, gl_i32 b) { return (gl_i32)((gl_u32)a * (gl_u32)b); }
__device__ __forceinline__ gl_i64 gl_mul(gl_i64 a, gl_i64 b) { return (gl_i64)((gl_u64)a * (gl_u64)b); }
__device__ __forceinline__ gl_u64 gl_mul(gl_u64 a, gl_u64 b) { return a * b; }

// Division by zero gives 0; the smallest integer by -1 wraps.
template <class T> __device__ __forceinline__ bool gl_minus_one(T b) { return b < 0 && b == (T)-1; }
template <class T> __device__ __forceinline__ T gl_rem(T a, T b) { return b == 0 || gl_minus_one(b) ? 0 : a % b; }
template <class T> __device__ __forceinline__ T gl_quot(T a, T b) {
    return b == 0 ? 0 : gl_minus_one(b) ? gl_sub((T)0, a) : a / b;
}
template <class T> __device__ __forceinline__ T gl_floor_div(T a, T b) {
    bool down = gl_rem(a, b) != 0 && (a < 0) != (b < 0);
    return down ? gl_sub(gl_quot(a, b), (T)1) : gl_quot(a, b);
}
template <class T> __device__ __forceinline__ T gl_modulo(T a, T b) {
    T r = gl_rem(a, b);
    return r != 0 && (r < 0) != (b < 0) ? gl_add(r, b) : r;
}
template <class T> __device__ __forceinline__ T gl_shl(T a, T n) {
    return (gl_u64)n < 8 * sizeof(T) ? (T)((gl_u64)a << n) : (T)0;
}
template <class T> __device__ __forceinline__ T gl_shr(T a, T n) {
    return (gl_u64)n < 8 * sizeof(T) ? a >> n : a >> (4 * sizeof(T)) >> (4 * sizeof(T));
}
template <class T> __device__ __forceinline__ T gl_ipow(T a, T n) {
    T base = a, left = n, y = 1;
    if (n < 0) {
        base = a == 1 || gl_add(a, (T)1) == 0 ? a : (T)0;
        left = gl_sub((T)0, n) & 1;
        y = base != 0;
    }
    while (left > 0) {
        if (left & 1) y = gl_mul(y, base);
        base = gl_mul(base, base);
        left >>= 1;
    }
    return y;
}
template <class T> __device__ __forceinline__ T gl_gcd(T a, T b) {
    while (b != 0) {
        T r = gl_rem(a, b);
        a = b;
        b = r;
    }
    return a < 0 ? gl_sub((T)0, a) : a;
}
template <class T> __device__ __forceinline__ T gl_abs(T a) { return a < 0 ? gl_sub((T)0, a) : a; }
template <class T> __device__ __forceinline__ T gl_lcm(T a, T b) {
    return gl_mul(gl_floor_div(gl_abs(a), gl_gcd(a, b)), gl_abs(b));
}

__device__ __forceinline__ double gl_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
__device__ double gl_digamma(double x) {
    double y = 0.0;
    if (x <= 0.0) {
        if (x == floor(x)) return x == 0.0 ? copysign(__longlong_as_double(0x7ff0000000000000ll), -x) : x - x + __longlong_as_double(0x7ff8000000000000ll);
        y = -3.14159265358979323846 / tan(3.14159265358979323846 * (x - rint(x)));
        x = 1.0 - x;
    }
    for (; x < 10.0; x += 1.0) y -= 1.0 / x;
    double z = 1.0 / (x * x);
    double s = 1.0 / 12.0;
    s = s * z - 691.0 / 32760.0;
    s = s * z + 1.0 / 132.0;
    s = s * z - 1.0 / 240.0;
    s = s * z + 1.0 / 252.0;
    s = s * z - 1.0 / 120.0;
    s = s * z + 1.0 / 12.0;
    return y + log(x) - 0.5 / x - z * s;
}

// 1 / x^s + 1 / (x + 1)^s + ... for x > 0.
__device__ double gl_inverse_powers(double s, double x) {
    const double bernoulli[8] = {1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0, -1.0 / 1209600.0, 1.0 / 47900160.0,
                                 -691.0 / 1307674368000.0, 1.0 / 74724249600.0, -3617.0 / 10670622842880000.0};
    double sum = 0.0;
    for (; x < s + 12.0; x += 1.0) sum += pow(x, -s);
    if (x - x != 0.0) return sum;
    double last = pow(x, -s);
    double factor = last * s / x, tail = last * (x / (s - 1.0) + 0.5);
    for (int k = 0; k < 8; ++k) {
        double at = s + 2.0 * k;
        tail += bernoulli[k] * factor;
        factor *= (at + 1.0) * (at + 2.0) / (x * x);
    }
    return sum + tail;
}
__device__ double gl_polygamma(double n, double x) {
    const double nan = __longlong_as_double(0x7ff8000000000000ll);
    if (n == 0.0) return gl_digamma(x);
    if (!(n >= 1.0 && n <= 170.0) || n != floor(n) || x != x || (x < 0.0 && x - x != 0.0)) return nan;
    bool odd = fmod(n, 2.0) == 1.0;
    double sum;
    if (x > 0.0) {
        sum = gl_inverse_powers(n + 1.0, x);
    } else if (x == floor(x)) {
        sum = x == 0.0 ? pow(1.0 / x, n + 1.0) : nan;
    } else {
        double f = x - floor(x);
        double below = gl_inverse_powers(n + 1.0, 1.0 - f) - gl_inverse_powers(n + 1.0, 1.0 - x);
        sum = gl_inverse_powers(n + 1.0, f) + (odd ? below : -below);
    }
    double sized = tgamma(n + 1.0) * sum;
    return odd ? sized : -sized;
}
