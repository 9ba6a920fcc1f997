//! CUDA C text of formulas and programs, and the description of the iteration space that such a kernel takes.
use super::compile::operands;
use super::layout::Space;
use super::program::{Node, Program};
use super::{Class, Map};
use crate::formula::text::{PRELUDE, Text, TextValue};
use crate::view::{Mode, Out, View};
use gluonish_base::{Cause, DType, MAX_DIMS, Result};
use std::fmt::Write;

/// Words of a space before the strides: size, number of dimensions, which outputs are added to, the dimensions.
const HEAD: usize = 3 + MAX_DIMS;

/// What a generated kernel takes as its first argument, by value: for each output and then each input of the call, the
/// strides over common dimensions. A kernel runs over `words[0]` values, any number of threads.
pub fn device_space(ins: &[View<'_>], outs: &[Out<'_>]) -> Result<Vec<i64>> {
    let space = Space::new(outs.iter().map(|o| o.view), ins)?;
    let mut words = vec![0; HEAD];
    words[0] = space.size() as i64;
    words[1] = space.ndim as i64;
    words[2] = outs.iter().enumerate().map(|(k, o)| ((o.mode == Mode::Add) as i64) << k).sum();
    for (w, &n) in words[3..].iter_mut().zip(&space.dims[..space.ndim]) {
        *w = n as i64;
    }
    for o in &space.operands {
        let strides = (0..MAX_DIMS).map(|d| if d < space.ndim { o.strides[d] as i64 } else { 0 });
        words.extend(strides);
    }
    Ok(words)
}

impl Map {
    /// A kernel `name(space, out, ins...)` that computes in `class`, with the same arithmetic as on the CPU.
    pub fn cuda(&self, name: &str, class: Class, ins: &[DType], out: DType) -> Result<String> {
        let mut k = Kernel::new(ins.len());
        let x: Vec<TextValue> = ins.iter().enumerate().map(|(j, &d)| k.load(j, d, class)).collect();
        let Some(y) = (self.text)(class, &k.text, &x) else {
            return Err(Cause::DType(format!("this operation is not defined for {}", class.dtype())).into());
        };
        k.store(0, y, class, out);
        Ok(k.finish(name, ins, &[out]))
    }
}

impl Program {
    /// A kernel `name(space, outs..., ins...)` that runs the whole program.
    pub fn cuda(&self, name: &str) -> Result<String> {
        let mut k = Kernel::new(self.inputs.len());
        let mut values: Vec<Option<TextValue>> = Vec::with_capacity(self.nodes.len());
        for (node, _) in &self.nodes {
            let get = |v: &super::Value| values[v.index()];
            let v = match *node {
                Node::Load { input, class } => Some(k.load(input as usize, self.inputs[input as usize], class)),
                Node::Const { bytes, class } => Some(k.text.bind(lane_type(class), constant(bytes, class))),
                Node::Weak(_) => None,
                Node::Step { map, class, .. } => {
                    let x: Option<Vec<TextValue>> = operands(node).iter().map(get).collect();
                    x.and_then(|x| (map.text)(class, &k.text, &x))
                }
                Node::Cast { ref arg, from, via } => get(arg).map(|x| {
                    let narrow = k.text.bind(element_type(via), cast(from.dtype(), via, &x.to_string()));
                    let to = Class::of(via);
                    k.text.bind(lane_type(to), cast(via, to.dtype(), &narrow.to_string()))
                }),
            };
            values.push(v);
        }
        let types: Vec<DType> = self.outputs().collect();
        for (j, (v, dtype)) in self.results.iter().enumerate() {
            let Some(x) = values[v.index()] else {
                return Err(Cause::Failed("a program's output has no text".into()).into());
            };
            k.store(j, x, self.nodes[v.index()].1.class, *dtype);
        }
        Ok(k.finish(name, &self.inputs, &types))
    }
}

/// A kernel in the making: statements that load and compute, statements that store.
struct Kernel {
    text: Text,
    stores: String,
    loaded: Vec<Vec<(Class, TextValue)>>,
}

impl Kernel {
    fn new(inputs: usize) -> Kernel {
        Kernel { text: Text::default(), stores: String::new(), loaded: vec![Vec::new(); inputs] }
    }

    fn load(&mut self, input: usize, dtype: DType, class: Class) -> TextValue {
        if let Some((_, v)) = self.loaded[input].iter().find(|l| l.0 == class) {
            return *v;
        }
        let v = self.text.bind(lane_type(class), cast(dtype, class.dtype(), &format!("x{input}[ox{input}]")));
        self.loaded[input].push((class, v));
        v
    }

    fn store(&mut self, out: usize, v: TextValue, class: Class, dtype: DType) {
        let (lane, element) = (class.dtype(), format!("y{out}[oy{out}]"));
        let old = cast(dtype, lane, &element);
        let sum = match class {
            Class::F32 => format!("__fadd_rn({old}, {v})"),
            Class::F64 => format!("__dadd_rn({old}, {v})"),
            _ => format!("gl_add({old}, {v})"),
        };
        let ty = lane_type(class);
        // Writing to a string cannot fail.
        let _ = writeln!(self.stores, "    {ty} r{out} = (s.words[2] >> {out} & 1) ? {sum} : {v};");
        let _ = writeln!(self.stores, "    {element} = {};", cast(lane, dtype, &format!("r{out}")));
    }

    fn finish(self, name: &str, ins: &[DType], outs: &[DType]) -> String {
        let operands: Vec<(char, usize, DType)> = (outs.iter().enumerate().map(|(k, &d)| ('y', k, d)))
            .chain(ins.iter().enumerate().map(|(k, &d)| ('x', k, d)))
            .collect();
        let words = HEAD + MAX_DIMS * operands.len();
        let parameters: String = operands
            .iter()
            .map(|&(c, k, d)| format!(", {}{}* {c}{k}", if c == 'x' { "const " } else { "" }, element_type(d)))
            .collect();
        let zero: String = operands.iter().map(|(c, k, _)| format!("    long long o{c}{k} = 0;\n")).collect();
        let step: String = (operands.iter().enumerate())
            .map(|(j, (c, k, _))| format!("      o{c}{k} += i * s.words[{} + d];\n", HEAD + MAX_DIMS * j))
            .collect();
        let (body, stores) = (self.text.into_body(), self.stores);
        format!(
            "{PRELUDE}\nstruct {name}_space {{ long long words[{words}]; }};\n\
             extern \"C\" __global__ void {name}(const {name}_space s{parameters}) {{\n  \
             const long long threads = (long long)gridDim.x * blockDim.x;\n  \
             for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < s.words[0]; at += threads) {{\n\
             {zero}    long long rest = at;\n    \
             for (int d = (int)s.words[1] - 1; d >= 0; --d) {{\n      \
             const long long n = s.words[3 + d], i = rest % n;\n      rest /= n;\n{step}    }}\n\
             {body}{stores}  }}\n}}\n"
        )
    }
}

/// The C type of an element in memory.
fn element_type(d: DType) -> &'static str {
    match d {
        DType::Bool | DType::U8 => "gl_u8",
        DType::U16 | DType::F16 | DType::BF16 => "gl_u16",
        DType::U32 => "gl_u32",
        DType::U64 => "gl_u64",
        DType::I8 => "gl_i8",
        DType::I16 => "gl_i16",
        DType::I32 => "gl_i32",
        DType::I64 => "gl_i64",
        DType::F32 => "float",
        DType::F64 => "double",
    }
}

/// The C type of a lane.
fn lane_type(c: Class) -> &'static str {
    element_type(c.dtype())
}

fn constant(bytes: [u8; 8], class: Class) -> String {
    let word = u64::from_ne_bytes(bytes);
    let [a, b, c, d, ..] = bytes;
    let half = u32::from_ne_bytes([a, b, c, d]);
    match class {
        Class::F32 => format!("__int_as_float({half:#x})"),
        Class::F64 => format!("__longlong_as_double({word:#x}ll)"),
        Class::I32 => format!("(gl_i32){half:#x}u"),
        _ => format!("({}){word:#x}ull", lane_type(class)),
    }
}

/// An expression of one element type as another, by the rules of `convert`.
fn cast(from: DType, to: DType, e: &str) -> String {
    if from == to && from != DType::Bool {
        return e.to_string();
    }
    // Halves are computed with as float.
    match from {
        DType::F16 => return cast(DType::F32, to, &format!("gl_of_f16({e})")),
        DType::BF16 => return cast(DType::F32, to, &format!("gl_of_bf16({e})")),
        DType::Bool if to != DType::Bool => return cast(DType::U8, to, &format!("(gl_u8)({e} != 0)")),
        _ => {}
    }
    let ty = element_type(to);
    match (to, to.int_range()) {
        (DType::Bool, _) => format!("(gl_u8)({e} != 0)"),
        (DType::F16, _) if from == DType::F32 => format!("gl_to_f16({e})"),
        (DType::BF16, _) if from == DType::F32 => format!("gl_to_bf16({e})"),
        (DType::F16, _) => format!("gl_to_f16(gl_odd((double){e}))"),
        (DType::BF16, _) => format!("gl_to_bf16(gl_odd((double){e}))"),
        (DType::I64, _) if from.is_float() => format!("gl_to_i64((double){e})"),
        (DType::U64, _) if from.is_float() => format!("gl_to_u64((double){e})"),
        (_, Some((lo, hi))) if from.is_float() => format!("({ty})gl_trunc((double){e}, {lo}.0, {hi}.0)"),
        _ => format!("({ty}){e}"),
    }
}
