//! What the engine itself costs: `cargo bench -p gluonish-engine --bench push`. Best of many samples, in nanoseconds.
#![allow(clippy::print_stdout)]
use gluonish_base::{Result, Site};
use gluonish_engine::{Device, Lane, Push, Var, Write, engine};
use std::hint::black_box;
use std::time::Instant;

const CPU: Device = Device::cpu(0);

/// The best time of `f`, which does `n` things, per thing.
fn best(name: &str, samples: usize, n: usize, mut f: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..samples {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_nanos() as f64 / n as f64);
    }
    println!("{name:<44}{best:>10.1} ns");
}

fn push(reads: &[&Var], write: &Var) {
    let writes = &[(write, Write::Overwrite)];
    let p = Push {
        op: "bench",
        reads,
        writes,
        device: CPU,
        lane: Lane::Compute,
        priority: 0,
        brief: false,
        site: Site::default(),
    };
    engine().push(p, |_| Ok(()));
}

fn main() -> Result {
    let poll = || Ok(());
    engine().warm_up(CPU);
    for bytes in [4, 64, 65, 4096, 1 << 16, 4 << 20] {
        best(&format!("var of {bytes} bytes, new and drop"), 200, 1000, || {
            for _ in 0..1000 {
                drop(black_box(Var::new(CPU, bytes)));
            }
        });
    }
    let (a, b) = (Var::new(CPU, 16)?, Var::new(CPU, 16)?);
    best("read taken and ended", 200, 1000, || {
        for _ in 0..1000 {
            assert!(black_box(&a).try_read());
            black_box(&a).end_read();
        }
    });
    best("small op: two reads, new output, drop", 200, 1000, || {
        for _ in 0..1000 {
            let ready = black_box(&a).try_read() && black_box(&b).try_read();
            assert!(ready);
            let y = black_box(Var::new(CPU, 16));
            a.end_read();
            b.end_read();
            drop(y);
        }
    });
    best("push alone, independent", 200, 1000, || {
        let vars: Vec<Var> = (0..1000).filter_map(|_| Var::new(CPU, 16).ok()).collect();
        vars.iter().for_each(|v| push(&[&a], v));
        drop(vars);
    });
    engine().wait_all(&poll)?;
    best("chain, per op, with the wait at its end", 200, 1000, || {
        (0..1000).for_each(|_| push(&[&a], &b));
        engine().wait_for_var(&b, &poll).ok();
    });
    best("push and wait", 2000, 1, || {
        push(&[&a], &b);
        engine().wait_for_var(&b, &poll).ok();
    });
    Ok(())
}
