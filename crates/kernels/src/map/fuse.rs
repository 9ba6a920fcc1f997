//! Pairs of cheap steps as one: a tile is read and written once less. Each operation keeps its own rounding, so the bits
//! stay the same; only a row that asks for `fma` gets one.
use super::program::{Held, Node, Value};
use super::{Class, MAX_INPUTS, Map};
use crate::formula::text::Text;
use gluonish_base::DType;

/// The operations that are paired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cheap {
    Add,
    Sub,
    Mul,
}
use Cheap::{Add, Mul, Sub};

static PLAIN: [(Cheap, Map); 3] = [
    (Add, crate::map!(float | i, a, b | i.add(a, b))),
    (Sub, crate::map!(float | i, a, b | i.sub(a, b))),
    (Mul, crate::map!(float | i, a, b | i.mul(a, b))),
];

/// `outer(inner(a, b), c)`.
static LEFT: [(Cheap, Cheap, Map); 9] = [
    (Add, Add, crate::map!(float | i, a, b, c | i.add(i.add(a, b), c))),
    (Add, Sub, crate::map!(float | i, a, b, c | i.add(i.sub(a, b), c))),
    (Add, Mul, crate::map!(float | i, a, b, c | i.add(i.mul(a, b), c))),
    (Sub, Add, crate::map!(float | i, a, b, c | i.sub(i.add(a, b), c))),
    (Sub, Sub, crate::map!(float | i, a, b, c | i.sub(i.sub(a, b), c))),
    (Sub, Mul, crate::map!(float | i, a, b, c | i.sub(i.mul(a, b), c))),
    (Mul, Add, crate::map!(float | i, a, b, c | i.mul(i.add(a, b), c))),
    (Mul, Sub, crate::map!(float | i, a, b, c | i.mul(i.sub(a, b), c))),
    (Mul, Mul, crate::map!(float | i, a, b, c | i.mul(i.mul(a, b), c))),
];
/// `outer(c, inner(a, b))`, where that is not the same as above.
static RIGHT: [(Cheap, Cheap, Map); 3] = [
    (Sub, Add, crate::map!(float | i, a, b, c | i.sub(c, i.add(a, b)))),
    (Sub, Sub, crate::map!(float | i, a, b, c | i.sub(c, i.sub(a, b)))),
    (Sub, Mul, crate::map!(float | i, a, b, c | i.sub(c, i.mul(a, b)))),
];

/// Pairs up steps of a program; what is not needed any more is left for the compiler to drop.
pub(super) fn fuse(nodes: &mut [(Node, Held)], results: &[(Value, DType)]) {
    let mut uses = vec![0u32; nodes.len()];
    for (node, _) in nodes.iter() {
        super::compile::operands(node).iter().for_each(|a| uses[a.index()] += 1);
    }
    results.iter().for_each(|(v, _)| uses[v.index()] += 1);
    let kinds: Vec<Option<Cheap>> = nodes.iter().map(|(n, _)| cheap(n)).collect();
    let mut taken = vec![false; nodes.len()];
    for v in 0..nodes.len() {
        let (Some(outer), Node::Step { class, args, .. }) = (kinds[v], nodes[v].0) else { continue };
        for side in [0, 1] {
            let inner = args[side].index();
            let (Some(kind), Node::Step { class: same, args: pair, .. }) = (kinds[inner], nodes[inner].0) else {
                continue;
            };
            if same != class || uses[inner] != 1 || taken[inner] {
                continue;
            }
            if let Some(map) = pairing(outer, kind, side) {
                let args: [Value; MAX_INPUTS] = [pair[0], pair[1], args[1 - side], args[1 - side]];
                nodes[v].0 = Node::Step { map, class, args };
                taken[v] = true; // a pair of its own: it is not an inner step any more
                break;
            }
        }
    }
}

fn pairing(outer: Cheap, inner: Cheap, side: usize) -> Option<&'static Map> {
    let table: &'static [_] = if side == 1 && outer == Sub { &RIGHT } else { &LEFT };
    table.iter().find(|(o, i, _)| (*o, *i) == (outer, inner)).map(|(_, _, map)| map)
}

/// Which of the cheap operations a step is, if any: formulas that write the same text are the same.
fn cheap(node: &Node) -> Option<Cheap> {
    let Node::Step { map, class: class @ (Class::F32 | Class::F64), .. } = node else { return None };
    if map.arity() != 2 || map.ops_in(*class) != 1 {
        return None;
    }
    let text = written(map, *class)?;
    PLAIN.iter().find(|(_, plain)| written(plain, *class).as_ref() == Some(&text)).map(|(kind, _)| *kind)
}

/// The text of a formula of two operands.
fn written(map: &Map, class: Class) -> Option<String> {
    let text = Text::default();
    let x = [text.bind("x", 0), text.bind("x", 1)];
    (map.text)(class, &text, &x)?;
    Some(text.into_body())
}
