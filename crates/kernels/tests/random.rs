//! Random numbers: where their words come from, what they are distributed like, and that nothing else matters.
mod arrays;
use arrays::*;
use gluonish_base::isa;
use gluonish_base::{DType, Ticket};
use gluonish_kernels::random::*;
use gluonish_kernels::{Cx, Mode};

const TICKET: Ticket = Ticket { seed: 0x1234_5678_9abc, stream: 3, counter: 77 };

fn context(threads: usize) -> Cx {
    Cx { ticket: TICKET, ..cx(threads) }
}

/// The word of the ticket that a 32-bit value is made of.
fn word(i: usize) -> u32 {
    TICKET.block((i / 64 * 16 + i % 16) as u64)[i / 16 % 4]
}

/// The two words of a 64-bit value.
fn double_word(i: usize) -> u64 {
    let b = TICKET.block((i / 32 * 16 + i % 16) as u64);
    let k = i / 16 % 2 * 2;
    b[k] as u64 | (b[k + 1] as u64) << 32
}

#[test]
fn words_are_philox() {
    let n = 200;
    let mut x = Array::new(DType::F32, &[n], |_| 0.0);
    uniform(&context(1), 0.0, 1.0, &x.out(Mode::Write)).unwrap();
    (0..n as usize).for_each(|i| assert_eq!(x.get(i), (word(i) >> 8) as f64 / (1 << 24) as f64));
    let mut x = Array::new(DType::F64, &[n], |_| 0.0);
    uniform(&context(1), 0.0, 1.0, &x.out(Mode::Write)).unwrap();
    (0..n as usize).for_each(|i| assert_eq!(x.get(i), (double_word(i) >> 11) as f64 / (1u64 << 53) as f64));
    let mut x = Array::new(DType::Bool, &[n], |_| 0.0);
    bernoulli(&context(1), 0.3, &x.out(Mode::Write)).unwrap();
    (0..n as usize).for_each(|i| assert_eq!(x.int(i) == 1, (word(i) as f64) < 0.3 * 2f64.powi(32)));
    let mut x = Array::new(DType::I64, &[n], |_| 0.0);
    for (low, high) in [(-5, 12), (0, 1 << 32), (i64::MIN, i64::MAX), (7, 8)] {
        randint(&context(1), low, high, &x.out(Mode::Write)).unwrap();
        let width = (high as i128 - low as i128) as u128;
        (0..n as usize)
            .for_each(|i| assert_eq!(x.int(i) as i128, low as i128 + ((double_word(i) as u128 * width) >> 64) as i128));
    }
}

/// Box and Muller from the words, in float64.
#[test]
fn normal_numbers_are_what_the_words_say() {
    let n = 2000;
    let mut x = Array::new(DType::F32, &[n], |_| 0.0);
    normal(&context(1), 0.0, 1.0, &x.out(Mode::Write)).unwrap();
    for i in 0..n as usize {
        let (r, a) = if i / 16 % 2 == 0 { (word(i), word(i + 16)) } else { (word(i - 16), word(i)) };
        let radius = (-2.0 * (((r >> 1) as f64 + 0.5) / 2f64.powi(31)).ln()).sqrt();
        let angle = (a >> 30) as f64 * std::f64::consts::FRAC_PI_2
            + ((a << 2) as i32) as f64 / 2f64.powi(33) * std::f64::consts::PI;
        let want = radius * if i / 16 % 2 == 0 { angle.cos() } else { angle.sin() };
        assert_close(x.get(i), want, 1e-6, &i);
    }
}

/// Neither threads, nor layout, nor the instruction set, nor where the array ends changes a value.
#[test]
fn the_same_everywhere() {
    type Fill = fn(&Cx, &mut Array, Mode);
    let fills: [(Fill, &[DType]); 8] = [
        (|c, a, m| exponential(c, 2.0, &a.out(m)).unwrap(), &FLOATS),
        (|c, a, m| repeat::<Gamma>(c, [0.5, 2.0], &a.out(m)).unwrap(), &FLOATS),
        (|c, a, m| repeat::<Poisson>(c, [30.0, 0.0], &a.out(m)).unwrap(), &DType::ALL[1..]),
        (|c, a, m| repeat::<NegativeBinomial>(c, [3.0, 0.3], &a.out(m)).unwrap(), &FLOATS),
        (|c, a, m| normal(c, 1.0, 2.0, &a.out(m)).unwrap(), &FLOATS),
        (|c, a, m| uniform(c, -1.0, 2.0, &a.out(m)).unwrap(), &FLOATS),
        (|c, a, m| bernoulli(c, 0.5, &a.out(m)).unwrap(), &DType::ALL),
        (|c, a, m| randint(c, 0, 100, &a.out(m)).unwrap(), &DType::ALL[1..]),
    ];
    for (f, types) in fills {
        for &dtype in types {
            let shape = [3, 7, 2501];
            let mut plain = Array::new(dtype, &shape, |_| 0.0);
            f(&context(1), &mut plain, Mode::Write);
            let want = plain.values();
            let mut two = Array::new(dtype, &shape, |_| 0.0);
            f(&context(2), &mut two, Mode::Write);
            assert_eq!(plain.bits(), two.bits(), "{dtype}");
            for level in isa::available() {
                isa::limit(level);
                let mut low = Array::new(dtype, &shape, |_| 0.0);
                f(&context(1), &mut low, Mode::Write);
                assert_eq!(plain.bits(), low.bits(), "{dtype} {level:?}");
            }
            for layout in LAYOUTS {
                let mut other = Array::laid_out(layout, dtype, &shape, |_| 0.0);
                f(&context(2), &mut other, Mode::Write);
                assert_eq!(other.values(), want, "{dtype} {layout:?}");
            }
            for n in [0, 1, 63, 64, 100, 16385] {
                let mut short = Array::new(dtype, &[n], |_| 0.0);
                f(&context(1), &mut short, Mode::Write);
                assert_eq!(short.values(), want[..n as usize], "{dtype} {n}");
            }
            let mut sum = Array::new(dtype, &[100], |_| 1.0);
            f(&context(1), &mut sum, Mode::Add);
            for (i, w) in want[..100].iter().enumerate() {
                let w = if dtype == DType::Bool { 1.0 } else { w + 1.0 };
                assert_close(sum.get(i), w, epsilon(dtype), &dtype);
            }
        }
    }
}

/// The largest distance between the empirical and the true distribution function, times the root of n: above 1.95 in one
/// of a thousand samples.
fn kolmogorov(mut v: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    v.sort_by(f64::total_cmp);
    let n = v.len() as f64;
    let far =
        v.iter().enumerate().map(|(i, x)| (cdf(*x) - i as f64 / n).abs().max(((i + 1) as f64 / n - cdf(*x)).abs()));
    far.fold(0.0, f64::max) * n.sqrt()
}

/// The normal distribution function by its series and, far out, its continued fraction.
fn phi(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    if x.abs() > 5.0 {
        let tail = density / (x.abs() + 1.0 / (x.abs() + 2.0 / (x.abs() + 3.0 / x.abs())));
        return if x > 0.0 { 1.0 - tail } else { tail };
    }
    let (mut term, mut sum) = (x, x);
    for k in 1..100 {
        term *= x * x / (2 * k + 1) as f64;
        sum += term;
    }
    0.5 + density * sum
}

#[test]
fn distributions() {
    let n = 200_000;
    for dtype in [DType::F32, DType::F64] {
        let mut x = Array::new(dtype, &[n], |_| 0.0);
        uniform(&context(1), 2.0, 5.0, &x.out(Mode::Write)).unwrap();
        assert!(x.values().iter().all(|v| (2.0..5.0).contains(v)));
        assert!(kolmogorov(x.values(), |v| (v - 2.0) / 3.0) < 1.95);
        normal(&context(1), 1.0, 2.0, &x.out(Mode::Write)).unwrap();
        let z: Vec<f64> = x.values().iter().map(|v| (v - 1.0) / 2.0).collect();
        assert!(z.iter().all(|v| v.is_finite()));
        assert!(kolmogorov(z.clone(), phi) < 1.95);
        let moment = |p: i32| z.iter().map(|v| v.powi(p)).sum::<f64>() / n as f64;
        assert!(
            moment(1).abs() < 0.01
                && (moment(2) - 1.0).abs() < 0.015
                && moment(3).abs() < 0.03
                && (moment(4) - 3.0).abs() < 0.1
        );
        // The two numbers of a pair, 16 places apart, and neighbours.
        for lag in [1, 16, 32, 64] {
            let r = z.iter().zip(&z[lag..]).map(|(a, b)| a * b).sum::<f64>() / n as f64;
            assert!(r.abs() < 0.01, "{lag}: {r}");
        }
    }
    let mut x = Array::new(DType::I32, &[n], |_| 0.0);
    randint(&context(1), -3, 7, &x.out(Mode::Write)).unwrap();
    let mut counts = [0f64; 10];
    x.values().iter().for_each(|v| counts[(v + 3.0) as usize] += 1.0);
    let expected = n as f64 / 10.0;
    let chi: f64 = counts.iter().map(|c| (c - expected).powi(2) / expected).sum();
    assert!(chi < 27.9, "{chi}"); // 9 degrees of freedom, one of a thousand
    bernoulli(&context(1), 0.3, &x.out(Mode::Write)).unwrap();
    let rate = x.values().iter().sum::<f64>() / n as f64;
    assert!((rate - 0.3).abs() < 3.3 * (0.3 * 0.7 / n as f64).sqrt(), "{rate}");
}

#[test]
fn ends() {
    for dtype in FLOATS {
        let mut x = Array::new(dtype, &[50_000], |_| 0.0);
        uniform(&context(1), 0.0, 1.0, &x.out(Mode::Write)).unwrap();
        assert!(x.values().iter().all(|v| (0.0..1.0).contains(v)), "{dtype}");
        uniform(&context(1), -4.0, -2.0, &x.out(Mode::Write)).unwrap();
        assert!(x.values().iter().all(|v| (-4.0..-2.0).contains(v)), "{dtype}");
        uniform(&context(1), 3.0, 3.0, &x.out(Mode::Write)).unwrap();
        assert!(x.values().iter().all(|v| *v == 3.0), "{dtype}");
    }
    let mut x = Array::new(DType::F32, &[1000], |_| 0.5);
    bernoulli(&context(1), 1.0, &x.out(Mode::Write)).unwrap();
    assert!(x.values().iter().all(|v| *v == 1.0));
    bernoulli(&context(1), 0.0, &x.out(Mode::Write)).unwrap();
    assert!(x.values().iter().all(|v| *v == 0.0));
    for p in [-0.1, 1.1, f64::NAN] {
        assert!(bernoulli(&context(1), p, &x.out(Mode::Write)).is_err());
    }
    assert!(randint(&context(1), 3, 3, &x.out(Mode::Write)).is_err());
    let mut x = Array::new(DType::I32, &[10], |_| 0.0);
    assert!(uniform(&context(1), 0.0, 1.0, &x.out(Mode::Write)).is_err());
    assert!(normal(&context(1), 0.0, 1.0, &x.out(Mode::Write)).is_err());
}
