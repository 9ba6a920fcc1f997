//! From a builder's nodes to steps with slots: what no output needs is dropped, slots are shared by values that do not
//! live at the same time.
use super::body::{Load, OutSpec, PASSED_ON, Step, Work};
use super::program::{Held, Node, Program, Value};
use super::{Class, MAX_INPUTS};
use gluonish_base::{Cause, DType, Result};
use std::sync::OnceLock;

/// Steps a program may have; places are numbered with 16 bits.
const MAX_STEPS: usize = 4096;

pub(super) fn compile(nodes: Vec<(Node, Held)>, inputs: Vec<DType>, results: Vec<(Value, DType)>) -> Result<Program> {
    if nodes.len() > MAX_STEPS {
        return Err(Cause::Argument(format!("a program of {} steps; at most {MAX_STEPS}", nodes.len())).into());
    }
    let last_use = last_uses(&nodes, &results);
    let mut loads = Vec::new();
    let mut consts: Vec<([u8; 8], Class)> = Vec::new();
    let mut place = vec![u16::MAX; nodes.len()];
    let live = |v: usize| last_use[v].is_some();
    for (v, (node, _)) in nodes.iter().enumerate().filter(|(v, _)| live(*v)) {
        if let Node::Load { input, class } = *node {
            place[v] = loads.len() as u16;
            loads.push(Load { input, class, last_read: 0 });
        }
    }
    for (v, (node, _)) in nodes.iter().enumerate().filter(|(v, _)| live(*v)) {
        if let Node::Const { bytes, class } = *node {
            let known = consts.iter().position(|c| *c == (bytes, class));
            let k = known.unwrap_or_else(|| {
                consts.push((bytes, class));
                consts.len() - 1
            });
            place[v] = (loads.len() + k) as u16;
        }
    }
    let first = loads.len() + consts.len();
    let mut slots = Slots { first, count: 0, free: Vec::new() };
    let mut steps: Vec<Step> = Vec::new();
    let mut made = vec![None; nodes.len()];
    let is_result = |v: usize| results.iter().any(|r| r.0.index() == v);
    for v in (0..nodes.len()).filter(|&v| live(v)) {
        let args = operands(&nodes[v].0);
        let mut step = match nodes[v].0 {
            Node::Step { map, class, .. } => match &map.loops[class as usize] {
                Some(l) => Step { work: Work::Loop(*l), args: [0; MAX_INPUTS], arity: map.arity, dst: 0 },
                None => return Err(Cause::DType(format!("this operation is not defined for {}", class.dtype())).into()),
            },
            Node::Cast { from, via, .. } => {
                Step { work: Work::Cast { from, via }, args: [0; MAX_INPUTS], arity: 1, dst: 0 }
            }
            _ => continue,
        };
        for (to, a) in step.args.iter_mut().zip(args) {
            *to = place[a.index()];
        }
        let dying = || args.iter().map(|a| a.index()).filter(|&a| last_use[a] == Some(v) && !is_result(a));
        // A loop may write over an operand that dies with it; a cast may change the width, so it may not.
        let in_place = matches!(step.work, Work::Loop(_));
        if in_place {
            dying().for_each(|a| slots.release(place[a]));
        }
        // Outputs have slots of their own: their memory may be the output's.
        place[v] = if is_result(v) { slots.fresh() } else { slots.take() };
        if !in_place {
            dying().for_each(|a| slots.release(place[a]));
        }
        step.dst = place[v];
        for &a in &step.args[..step.arity as usize] {
            if let Some(l) = loads.get_mut(a as usize) {
                l.last_read = steps.len() as u16;
            }
        }
        made[v] = Some(steps.len() as u16);
        steps.push(step);
    }
    let outs: Vec<OutSpec> = results
        .iter()
        .map(|(v, _)| OutSpec { place: place[v.index()], class: nodes[v.index()].1.class, made: made[v.index()] })
        .collect();
    for o in &outs {
        if let Some(l) = loads.get_mut(o.place as usize) {
            l.last_read = PASSED_ON;
        }
    }
    let slots = slots.count;
    let encoded = OnceLock::new();
    let mut program = Program { nodes, results, inputs, loads, consts, steps, outs, slots, line: None, encoded };
    program.line = program.line_class();
    Ok(program)
}

/// Operands of a node.
pub(super) fn operands(n: &Node) -> &[Value] {
    match n {
        Node::Step { map, args, .. } => &args[..map.arity()],
        Node::Cast { arg, .. } => std::slice::from_ref(arg),
        _ => &[],
    }
}

/// For each node the last one that reads it (itself, for an output nobody reads); none if no output depends on it.
pub(super) fn last_uses(nodes: &[(Node, Held)], results: &[(Value, DType)]) -> Vec<Option<usize>> {
    let mut last = vec![None; nodes.len()];
    for (v, _) in results {
        last[v.index()] = Some(v.index());
    }
    for v in (0..nodes.len()).rev() {
        if last[v].is_some() {
            for a in operands(&nodes[v].0) {
                last[a.index()] = last[a.index()].max(Some(v));
            }
        }
    }
    last
}

/// Hands out slots, lowest first.
struct Slots {
    first: usize,
    count: usize,
    free: Vec<u16>,
}

impl Slots {
    fn fresh(&mut self) -> u16 {
        self.count += 1;
        (self.first + self.count - 1) as u16
    }
    fn take(&mut self) -> u16 {
        self.free.pop().unwrap_or_else(|| self.fresh())
    }
    /// Gives a place back, if it is a slot.
    fn release(&mut self, place: u16) {
        if place as usize >= self.first && !self.free.contains(&place) {
            self.free.push(place);
        }
    }
}
