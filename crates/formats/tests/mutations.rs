//! Damaged files: whatever the damage, an error or a value, never a panic, and never more memory than the file has.
//! `FILES_MUTATIONS=1000000 cargo test -p gluonish-formats --test mutations --release` runs as many on each file.
mod common;
use common::{corpus, read};
use gluonish_base::{Cause, Error};

/// Splitmix: small, and the same everywhere.
struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Numbers on which careless arithmetic fails.
const NUMBERS: [u64; 14] =
    [0, 1, 2, 13, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 32, 1 << 60, i64::MAX as u64, 1 << 63, u64::MAX];

fn is_about_the_file(e: &Error) -> bool {
    matches!(e.cause(), Cause::Format(_))
}

fn damage(file: &mut Vec<u8>, others: &[(String, Vec<u8>)], r: &mut Random) {
    let at = r.below(file.len());
    match r.below(8) {
        0 if !file.is_empty() => file[at] ^= 1 << r.below(8),
        1 if !file.is_empty() => file[at] = r.next() as u8,
        2 | 3 => {
            let width = [1, 2, 4, 8][r.below(4)];
            let value = NUMBERS[r.below(NUMBERS.len())].to_le_bytes();
            if at + width <= file.len() {
                file[at..at + width].copy_from_slice(&value[..width]);
            }
        }
        4 => file.truncate(at),
        5 => {
            let end = (at + r.below(64)).min(file.len());
            file.drain(at..end);
        }
        6 => {
            let end = (at + r.below(64)).min(file.len());
            let part = file[at..end].to_vec();
            let to = r.below(file.len());
            file.splice(to..to, part);
        }
        _ => {
            let (_, other) = &others[r.below(others.len())];
            let from = r.below(other.len());
            let end = (from + r.below(64)).min(other.len());
            let over = (at + r.below(64)).min(file.len());
            file.splice(at..over, other[from..end].iter().copied());
        }
    }
}

#[test]
fn damaged_files_are_refused_or_read() {
    let rounds = std::env::var("FILES_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let files = corpus();
    let (mut refused, mut good) = (0, 0);
    for (i, (name, file)) in files.iter().enumerate() {
        for round in 0..rounds {
            let mut r = Random((i as u64) << 40 | round);
            let mut file = file.clone();
            for _ in 0..=r.below(4) {
                damage(&mut file, &files, &mut r);
            }
            match std::panic::catch_unwind(|| read(&file)) {
                Ok(Ok(_)) => good += 1,
                Ok(Err(e)) => {
                    assert!(is_about_the_file(&e), "{name}, round {round}: {e}");
                    refused += 1;
                }
                Err(_) => panic!("{name}, round {round}"),
            }
        }
    }
    assert!(good > 0 && refused > good, "{refused} refused, {good} read");
}

#[test]
fn every_cut_is_noticed() {
    for (name, file) in corpus() {
        for n in 0..file.len() {
            let cut = read(&file[..n]);
            assert!(cut.is_err_and(|e| is_about_the_file(&e)), "{name}, cut after {n} bytes");
        }
    }
}
