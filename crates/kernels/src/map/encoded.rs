//! Programs as machine code: which ones, and when.
use super::compile::{last_uses, operands};
use super::program::{Node, Program};
use super::{Class, Map};
use crate::jit::{Chain, Code, Reg};
use gluonish_base::isa::{Isa, isa};
use gluonish_base::settings::settings;

/// Values from which on the tens of microseconds that encoding takes are worth it.
const WORTH: usize = 1 << 14;

/// The code of a program, and the places of its operands: loads first, then what it computes.
pub(crate) struct Encoded {
    code: Code,
    loads: usize,
    outs: Vec<u16>,
}

impl Program {
    /// The code for a run over `size` values, if there is or should be one.
    pub(super) fn encoded(&self, size: usize) -> Option<&Encoded> {
        if isa() < Isa::Avx2 || !settings().jit || (size < WORTH && self.encoded.get().is_none()) {
            return None;
        }
        self.encoded.get_or_init(|| self.encode()).as_ref()
    }

    /// Records all steps; none if one of them is not a float32 formula of register operations.
    fn encode(&self) -> Option<Encoded> {
        if self.steps.len() < 2 {
            return None; // a loop of its own does as well
        }
        let live = last_uses(&self.nodes, &self.results);
        let chain = Chain::default();
        let mut regs: Vec<Option<Reg>> = vec![None; self.nodes.len()];
        let mut loads = 0;
        for (v, (node, _)) in self.nodes.iter().enumerate().filter(|(v, _)| live[*v].is_some()) {
            regs[v] = Some(match *node {
                Node::Load { class: Class::F32, .. } => {
                    loads += 1;
                    chain.input(loads - 1)
                }
                Node::Const { bytes: [a, b, c, d, ..], class: Class::F32 } => {
                    chain.constant(u32::from_ne_bytes([a, b, c, d]))
                }
                Node::Step { map, class: Class::F32, .. } => {
                    let args: Option<Vec<Reg>> = operands(node).iter().map(|a| regs[a.index()]).collect();
                    let Map { record, .. } = map;
                    record(chain.recorder(), &args?)?
                }
                _ => return None,
            });
        }
        // Each computed value once, however often it is an output.
        let (mut outs, mut results) = (Vec::new(), Vec::new());
        for (spec, (v, _)) in self.outs.iter().zip(&self.results) {
            if spec.made.is_some() && !outs.contains(&spec.place) {
                outs.push(spec.place);
                results.push(regs[v.index()]?);
            }
        }
        let code = chain.compile(loads, &results)?;
        Some(Encoded { code, loads, outs })
    }
}

impl Encoded {
    /// Runs over a tile of `n` values; `places` are those of the program.
    ///
    /// # Safety
    /// Every load and output is in its place, an array of `n` float32 values; the processor has AVX2 and FMA.
    pub(super) unsafe fn run(&self, n: usize, places: &[*mut u8]) {
        let mut operands = [std::ptr::null_mut::<f32>(); 16];
        let outs = self.outs.iter().map(|&p| places[p as usize]);
        let mut used = 0;
        for (to, from) in operands.iter_mut().zip(places[..self.loads].iter().copied().chain(outs)) {
            *to = from.cast();
            used += 1;
        }
        // SAFETY: the caller's promise.
        unsafe { self.code.run(n, &operands[..used]) }
    }
}
