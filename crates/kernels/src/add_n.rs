//! The sum of many arrays of one shape in one pass over memory.
use crate::map::{Builder, Map, Program, Value, run};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, Result};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

static TWO: Map = crate::map!(num | i, a, b | i.add(a, b));
static THREE: Map = crate::map!(num | i, a, b, c | i.add(i.add(a, b), c));
static FOUR: Map = crate::map!(num | i, a, b, c, d | i.add(i.add(i.add(a, b), c), d));
static ONE: Map = crate::map!(num | _i, a | a);

/// Arrays that one pass takes; more are added to what the passes before gave.
const MOST: usize = 12;
/// Programs that are kept.
const KEPT: usize = 64;

/// The types of the inputs and, last, of the output.
type Types = SmallVec<[DType; MOST + 1]>;

/// Adds the inputs from left to right; they have the output's shape. Half types are summed in float32.
pub fn add_n(cx: &Cx, ins: &[View<'_>], out: &Out<'_>) -> Result {
    let (first, rest) = ins.split_at(ins.len().min(MOST));
    pass(cx, first, out)?;
    for more in rest.chunks(MOST - 1) {
        let with: SmallVec<[View<'_>; MOST]> = std::iter::once(out.view).chain(more.iter().copied()).collect();
        pass(cx, &with, &Out { view: out.view, mode: Mode::Write })?;
    }
    Ok(())
}

fn pass(cx: &Cx, ins: &[View<'_>], out: &Out<'_>) -> Result {
    let types: Types = ins.iter().map(|v| v.dtype).chain([out.view.dtype]).collect();
    run(cx, &*program(&types)?, ins, std::slice::from_ref(out))
}

/// The program for these types, made once.
fn program(types: &Types) -> Result<Arc<Program>> {
    static MADE: OnceLock<Mutex<HashMap<Types, Arc<Program>>>> = OnceLock::new();
    let mut made = MADE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = made.get(types) {
        return Ok(known.clone());
    }
    if made.len() >= KEPT {
        made.clear();
    }
    let new = Arc::new(build(types)?);
    made.insert(types.clone(), new.clone());
    Ok(new)
}

fn build(types: &Types) -> Result<Program> {
    let (&to, from) = types.split_last().unwrap_or((&DType::F32, &[]));
    let work = if matches!(to, DType::F16 | DType::BF16) { DType::F32 } else { to };
    let mut builder = Builder::new();
    let inputs: SmallVec<[Value; MOST]> = from.iter().map(|&d| builder.input(d)).collect();
    let (first, mut left) = inputs.split_at(inputs.len().min(4));
    let mut sum = step(&mut builder, work, first)?;
    while !left.is_empty() {
        let (now, later) = left.split_at(left.len().min(3));
        let with: SmallVec<[Value; 4]> = std::iter::once(sum).chain(now.iter().copied()).collect();
        sum = step(&mut builder, work, &with)?;
        left = later;
    }
    builder.output(sum, to)?;
    builder.build()
}

fn step(builder: &mut Builder, work: DType, values: &[Value]) -> Result<Value> {
    let map = match values.len() {
        4 => &FOUR,
        3 => &THREE,
        2 => &TWO,
        _ => &ONE,
    };
    builder.step(map, work, values)
}
