//! How threads share the steps of a layer. Every value is one chain of operations, so that this changes no bit.
use gluonish_base::pool;
use std::ops::Range;

/// What a thread takes of a step: panels of weights, for some sequences.
#[derive(Clone)]
pub(super) struct Part {
    pub sequences: Range<usize>,
    pub panels: Range<usize>,
}

pub(super) enum Split {
    /// Each thread takes some sequences through all steps. Nothing is handed over, but each reads all weights.
    Sequences { batch: usize, threads: usize },
    /// Each thread takes some panels of weights, and hands over what it made of them at each step.
    Panels { batch: usize, threads: usize },
}

/// Bytes of weights that a thread can read again at each step: they stay in its second-level cache.
const NEAR: usize = 1 << 20;
/// Sequences that are worth reading the weights for.
const WORTH: usize = 6;

impl Split {
    /// For steps that read so many bytes of weights.
    pub(super) fn new(threads: usize, batch: usize, bytes: usize) -> Split {
        let threads = threads.min(pool::threads()).max(1);
        if bytes <= NEAR && batch >= WORTH * threads {
            Split::Sequences { batch, threads }
        } else {
            Split::Panels { batch, threads }
        }
    }

    /// Whether each thread takes all panels of what it takes.
    pub(super) fn takes_all(&self) -> bool {
        matches!(self, Split::Sequences { .. })
    }

    /// Calls `f` with the step, the number of a stage and the part to do, for all stages (of so many panels each) of all
    /// steps, one after the other.
    pub(super) fn run(
        &self,
        steps: impl Iterator<Item = usize> + Clone + Sync,
        stages: &[usize],
        f: impl Fn(usize, usize, Part) + Sync,
    ) {
        let cut = |n: usize, i: usize, of: usize| n * i / of..n * (i + 1) / of;
        match *self {
            Split::Sequences { batch, threads } => pool::run(threads, threads, |i| {
                for step in steps.clone() {
                    for (stage, panels) in stages.iter().enumerate() {
                        f(step, stage, Part { sequences: cut(batch, i, threads), panels: 0..*panels });
                    }
                }
            }),
            Split::Panels { batch, threads } => {
                for step in steps {
                    for (stage, panels) in stages.iter().enumerate() {
                        let parts = threads.min(*panels);
                        pool::run(parts, threads, |i| {
                            f(step, stage, Part { sequences: 0..batch, panels: cut(*panels, i, parts) });
                        });
                    }
                }
            }
        }
    }
}

/// `0..n`, in every other step backwards: what was read last is read first then, while it is still in a near cache.
pub(super) fn there_and_back(step: usize, n: usize) -> impl Iterator<Item = usize> {
    (0..n).map(move |i| if step.is_multiple_of(2) { i } else { n - 1 - i })
}
