//! Products in `f32`, ours against the `sgemm_` of a library, alternating in one process; best of many rounds.
//!
//! `TORCH_LIB=.../libtorch_cpu.so OMP_NUM_THREADS=1 cargo bench -p gluonish-kernels --bench gemm -- [threads] [rounds] [filter]`
//!
//! Without `TORCH_LIB` only our speed is shown. `OMP_NUM_THREADS` must say the same number of threads. `ISA=avx2` keeps us
//! to AVX2, as `MKL_ENABLE_INSTRUCTIONS=AVX2` does with MKL; `ISA=portable` to neither.
#![allow(clippy::print_stdout)]
use gluonish_base::isa::{Isa, detected, limit};
use gluonish_base::pool;
use gluonish_kernels::Mode;
use gluonish_kernels::gemm::{Identity, Mat, MatMut, Product, gemm};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

// SAFETY: the signatures are those of the C library.
unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(lib: *mut c_void, name: *const c_char) -> *mut c_void;
    fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
}

type Sgemm = unsafe extern "C" fn(
    *const u8,
    *const u8,
    *const i32,
    *const i32,
    *const i32,
    *const f32,
    *const f32,
    *const i32,
    *const f32,
    *const i32,
    *const f32,
    *mut f32,
    *const i32,
);

/// The library's product of column-major matrices, if there is one.
fn peer() -> Option<Sgemm> {
    let path = CString::new(std::env::var("TORCH_LIB").ok()?).ok()?;
    // SAFETY: loads a library that the user names, with strings that end in zero; the symbol has BLAS's signature.
    unsafe {
        let lib = dlopen(path.as_ptr(), 2 | 0x100);
        let f = if lib.is_null() { lib } else { dlsym(lib, c"sgemm_".as_ptr()) };
        (!f.is_null()).then(|| std::mem::transmute::<*mut c_void, Sgemm>(f))
    }
}

#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    m: usize,
    n: usize,
    k: usize,
    ta: bool,
    tb: bool,
}

const fn shape(name: &'static str, m: usize, n: usize, k: usize, ta: bool, tb: bool) -> Shape {
    Shape { name, m, n, k, ta, tb }
}

const N: bool = false;
const T: bool = true;
const SHAPES: [Shape; 26] = [
    shape("1024^3 NN", 1024, 1024, 1024, N, N),
    shape("1024^3 NT", 1024, 1024, 1024, N, T),
    shape("1024^3 TN", 1024, 1024, 1024, T, N),
    shape("2048^3 NN", 2048, 2048, 2048, N, N),
    shape("mlp1 fwd NT", 64, 128, 784, N, T),
    shape("mlp1 dX NN", 64, 784, 128, N, N),
    shape("mlp1 dW TN", 128, 784, 64, T, N),
    shape("mlp2 fwd NT", 64, 64, 128, N, T),
    shape("mlp2 dX NN", 64, 128, 64, N, N),
    shape("mlp2 dW TN", 64, 128, 64, T, N),
    shape("mlp3 fwd NT", 64, 10, 64, N, T),
    shape("mlp3 dX NN", 64, 64, 10, N, N),
    shape("mlp3 dW TN", 10, 64, 64, T, N),
    shape("lstm NN", 20, 800, 200, N, N),
    shape("lstm NT", 20, 800, 200, N, T),
    shape("tf 1024x256x256 NT", 1024, 256, 256, N, T),
    shape("tf 1024x512x256 NT", 1024, 512, 256, N, T),
    shape("tf 1024x1024x256 NT", 1024, 1024, 256, N, T),
    shape("tf 1024x1024x256 NN", 1024, 1024, 256, N, N),
    shape("tf dW 1024x256x1024 TN", 1024, 256, 1024, T, N),
    shape("qk 256x256x64 NT", 256, 256, 64, N, T),
    shape("odd 197x193x201 NN", 197, 193, 201, N, N),
    shape("gemv 1x4096x1024 NN", 1, 4096, 1024, N, N),
    shape("gemv 1x4096x1024 NT", 1, 4096, 1024, N, T),
    shape("gemv 1x512x512 NT", 1, 512, 512, N, T),
    shape("gemv 512x1x512 NN", 512, 1, 512, N, N),
];

/// Memory as arrays have it: aligned to 64 bytes.
struct Aligned {
    memory: Vec<f32>,
    start: usize,
}

impl Aligned {
    fn new(n: usize, f: impl FnMut(usize) -> f32) -> Aligned {
        let mut memory = vec![0.0; n + 16];
        let start = memory.as_ptr().align_offset(64).min(16);
        memory[start..start + n].iter_mut().zip((0..n).map(f)).for_each(|(x, y)| *x = y);
        Aligned { memory, start }
    }
    fn as_ptr(&self) -> *const f32 {
        self.memory[self.start..].as_ptr()
    }
    fn as_mut_ptr(&mut self) -> *mut f32 {
        self.memory[self.start..].as_mut_ptr()
    }
}

struct Data {
    a: Aligned,
    b: Aligned,
    c: Aligned,
}

impl Data {
    fn new(s: &Shape) -> Data {
        let mut seed = 1u32;
        let mut random = |_| {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            (seed >> 8) as f32 / 8388608.0 - 1.0
        };
        let a = Aligned::new(s.m * s.k, &mut random);
        let b = Aligned::new(s.k * s.n, &mut random);
        Data { a, b, c: Aligned::new(s.m * s.n, |_| 0.0) }
    }
}

fn ours(s: &Shape, d: &mut Data, threads: usize) {
    let strides = |rows: usize, cols: usize, t: bool| if t { (1, rows as isize) } else { (cols as isize, 1) };
    let (ars, acs) = strides(s.m, s.k, s.ta);
    let (brs, bcs) = strides(s.k, s.n, s.tb);
    let a = Mat::new(d.a.as_ptr(), ars, acs);
    let b = Mat::new(d.b.as_ptr(), brs, bcs);
    let c = MatMut::new(d.c.as_mut_ptr(), s.n as isize, 1);
    // SAFETY: the vectors have these shapes.
    unsafe { gemm(threads, Product { m: s.m, n: s.n, k: s.k, a, b, c, mode: Mode::Write, e: Identity }) }
}

fn theirs(f: Sgemm, s: &Shape, d: &mut Data) {
    // Row-major C = A B is column-major C^T = B^T A^T.
    let (m, n, k) = (s.m as i32, s.n as i32, s.k as i32);
    let letter = |t: bool| if t { b'T' } else { b'N' };
    let (lda, ldb) = (if s.ta { m } else { k }, if s.tb { k } else { n });
    let (one, zero) = (1.0f32, 0.0f32);
    // SAFETY: the vectors have these shapes.
    unsafe {
        f(
            &letter(s.tb),
            &letter(s.ta),
            &n,
            &m,
            &k,
            &one,
            d.b.as_ptr(),
            &ldb,
            d.a.as_ptr(),
            &lda,
            &zero,
            d.c.as_mut_ptr(),
            &n,
        )
    }
}

/// Seconds: of this thread's work when it works alone (other processes then disturb less), else of the clock.
fn now(threads: usize) -> f64 {
    const THREAD_CPU_TIME: c_int = 3;
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    if threads > 1 {
        return start.elapsed().as_secs_f64();
    }
    let mut t = [0i64; 2];
    // SAFETY: a timespec is two such numbers on 64-bit Linux.
    unsafe { clock_gettime(THREAD_CPU_TIME, &mut t) };
    t[0] as f64 + t[1] as f64 * 1e-9
}

fn time(calls: usize, threads: usize, mut f: impl FnMut()) -> f64 {
    let start = now(threads);
    (0..calls).for_each(|_| f());
    (now(threads) - start) / calls as f64
}

/// One contender's turn: the best stretch of 40 ms. The other's threads may still be spinning: they get time to fall
/// asleep first.
fn turn(calls: usize, threads: usize, mut f: impl FnMut()) -> f64 {
    const TURN: Duration = Duration::from_millis(40);
    if threads > 1 {
        std::thread::sleep(TURN / 8);
    }
    let start = Instant::now();
    let mut best = f64::INFINITY;
    while start.elapsed() < TURN {
        best = best.min(time(calls, threads, &mut f));
    }
    best
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let number = |i: usize, default: usize| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (threads, rounds) = (number(0, 1), number(1, 20));
    let filter = args.get(2).map_or("", |s| s.as_str());
    let sgemm = peer();
    pool::set_threads(threads);
    match std::env::var("ISA").as_deref() {
        Ok("avx2") => limit(Isa::Avx2),
        Ok("portable") => limit(Isa::Portable),
        _ => detected(),
    };
    println!("{:24} {:>9} {:>9} {:>6}   ({threads} threads)", "shape", "ours", "peer", "ratio");
    let mut logs = Vec::new();
    for s in SHAPES.iter().filter(|s| s.name.contains(filter)) {
        let mut d = Data::new(s);
        let flops = (2 * s.m * s.n * s.k) as f64;
        // Short stretches, many of them: some are not disturbed by what else the machine does.
        let calls = ((2e7 / flops) as usize).clamp(1, 200);
        let (mut mine, mut other) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..rounds {
            mine = mine.min(turn(calls, threads, || ours(s, &mut d, threads)));
            if let Some(f) = sgemm {
                other = other.min(turn(calls, threads, || theirs(f, s, &mut d)));
            }
        }
        logs.push((other / mine).ln());
        let speed = |t: f64| flops / t / 1e9;
        println!("{:24} {:9.1} {:9.1} {:6.3}", s.name, speed(mine), speed(other), other / mine);
    }
    println!("geometric mean {:.3}", (logs.iter().sum::<f64>() / logs.len() as f64).exp());
}
