//! Keys with arrays: positions, and masks. NumPy's rules: all arrays (and the integers beside them) broadcast together, and
//! what they select stands where they stood, or in front if something else stands between them.
use super::{Index, parse_index, two_ellipses, wrong};
use crate::array::NDArray;
use crate::invoke::{In, contiguous_copy, full, invoke, select};
use crate::launch::Operands;
use crate::write::{assign, check_apart, copy_into, fit, write};
use gluonish_base::tls::tls;
use gluonish_base::{Cause, DType, Dims, Error, Result, Scalar};
use gluonish_kernels::{AttrVal, Attrs, index as kernels};
use gluonish_ops::rows::{self, Slice, span_attrs};
use gluonish_ops::{Layout, Op};
use smallvec::SmallVec;

/// One part of a key that has arrays.
pub enum Part {
    Basic(Index),
    /// Positions along an axis, or a mask over as many axes as it has.
    Array(NDArray),
    /// A mask without axes.
    Truth(bool),
}

/// Up to so many positions are checked before the call returns, if they are there.
const CHECKED_AT_ONCE: usize = 1 << 16;

/// An array of the key.
struct Group {
    array: NDArray,
    /// The axis of the indexed array where it stands, and how many axes it stands for.
    source: usize,
    axes: usize,
    /// Where those axes are after the basic parts of the key were applied.
    at: usize,
}

/// What a key selects.
struct Plan {
    /// The basic parts, with the axes that arrays index whole.
    slice: Slice,
    /// Whether they do nothing.
    trivial: bool,
    /// The order of axes that brings those which arrays index together, in front.
    order: Option<Dims>,
    /// Then they are these.
    axis: usize,
    axes: usize,
    what: What,
}

enum What {
    Mask(NDArray),
    /// Positions, numbered over all the axes; and the axis that errors name.
    Positions(NDArray, usize),
}

/// `a[key]`, a copy.
pub fn select_at(a: &NDArray, key: &[Part]) -> Result<NDArray> {
    if let Some(key) = basic(key) {
        return select(a, &key);
    }
    let plan = Plan::new(a, key)?;
    let whole = plan.whole(a)?;
    let (op, attrs) = plan.read();
    run(op, &[In::Array(&whole), In::Array(plan.indices())], &attrs)
}

/// `a[key] = value`. While recording this makes a new version of `a` with the right gradient for both.
pub fn assign_at(a: &NDArray, key: &[Part], value: In<'_>) -> Result {
    if let Some(key) = basic(key) {
        return assign(a, &parse_index(a.shape(), &key)?, value);
    }
    check_apart(a).map_err(|e| e.in_op("assignment"))?;
    let mut plan = Plan::new(a, key)?;
    if plan.indices().overlaps(a) {
        plan.set_indices(contiguous_copy(plan.indices())?);
    }
    let layout = plan.layout(a);
    let fitted = match value {
        In::Array(v) => Some(plan.fitted(v, &layout.shape, a)?),
        _ => None,
    };
    let value = fitted.as_ref().map_or(value, In::Array);
    let (op, attrs) = plan.write();
    let recorded = tls().recording.get() && (a.is_tracked() || fitted.as_ref().is_some_and(|v| v.is_tracked()));
    if !recorded {
        let part = a.view_as(&layout.shape, &layout.strides, layout.offset);
        return write(op, &[In::Array(&part), value, In::Array(plan.indices())], &attrs, &part);
    }
    if plan.trivial && plan.order.is_none() {
        return write(op, &[In::Array(a), value, In::Array(plan.indices())], &attrs, a);
    }
    let whole = plan.whole(a)?;
    let mut changed = run(op, &[In::Array(&whole), value, In::Array(plan.indices())], &attrs)?;
    if let Some(order) = &plan.order {
        let mut back = *order;
        order.iter().enumerate().for_each(|(i, from)| back[*from as usize] = i as isize);
        changed = run(&rows::TRANSPOSE, &[In::Array(&changed)], &Attrs::of(&[AttrVal::Ints(back)]))?;
    }
    assign(a, &plan.slice, In::Array(&changed))
}

/// A key without arrays.
fn basic(key: &[Part]) -> Option<SmallVec<[Index; 8]>> {
    key.iter().map(|part| if let Part::Basic(index) = part { Some(*index) } else { None }).collect()
}

impl Plan {
    fn new(a: &NDArray, key: &[Part]) -> Result<Plan> {
        let keyed = Keyed::new(a, key)?;
        let slice = parse_index(a.shape(), &keyed.basic)?;
        let axes = keyed.groups.iter().map(|g| g.axes).sum();
        let order = keyed.apart.then(|| in_front(&keyed.groups, slice.axes.len()));
        let trivial = keyed.basic.iter().all(|k| matches!(k, Index::Ellipsis | Index::Range(None, None, 1)));
        let axis = if keyed.apart { 0 } else { keyed.first };
        Ok(Plan { slice, trivial, order, axis, axes, what: joined(a, keyed.groups)? })
    }

    fn indices(&self) -> &NDArray {
        match &self.what {
            What::Mask(v) | What::Positions(v, _) => v,
        }
    }

    fn set_indices(&mut self, with: NDArray) {
        match &mut self.what {
            What::Mask(v) | What::Positions(v, _) => *v = with,
        }
    }

    fn read(&self) -> (&'static Op, Attrs) {
        (if let What::Mask(_) = self.what { &rows::BOOLEAN_MASK } else { &rows::INDEX }, self.attrs())
    }

    fn write(&self) -> (&'static Op, Attrs) {
        (if let What::Mask(_) = self.what { &rows::MASK_ASSIGN } else { &rows::INDEX_PUT }, self.attrs())
    }

    fn attrs(&self) -> Attrs {
        match self.what {
            What::Mask(_) => Attrs::of(&[AttrVal::Int(self.axis as i64)]),
            What::Positions(_, named) => Attrs::of(&span_attrs(self.axis, self.axes, named)),
        }
    }

    /// What the arrays index, recorded like any view.
    fn whole(&self, a: &NDArray) -> Result<NDArray> {
        let mut whole = a.clone();
        if !self.trivial {
            whole = run(&rows::SLICE, &[In::Array(&whole)], &Attrs::of(&self.slice.attrs()))?;
        }
        if let Some(order) = &self.order {
            whole = run(&rows::TRANSPOSE, &[In::Array(&whole)], &Attrs::of(&[AttrVal::Ints(*order)]))?;
        }
        Ok(whole)
    }

    /// Where it lies.
    fn layout(&self, a: &NDArray) -> Layout {
        let mut layout = self.slice.layout(a.strides());
        if let Some(order) = &self.order {
            let (shape, strides) = (layout.shape, layout.strides);
            for (i, from) in order.iter().enumerate() {
                (layout.shape[i], layout.strides[i]) = (shape[*from as usize], strides[*from as usize]);
            }
        }
        layout
    }

    /// The value of an assignment in the shape of its target.
    fn fitted(&self, v: &NDArray, whole: &Dims, a: &NDArray) -> Result<NDArray> {
        let behind = &whole[self.axis + self.axes..];
        let selected = match &self.what {
            What::Positions(i, _) => *i.shape(),
            What::Mask(m) => {
                // One value for all, or one for each: then they must be as many.
                let given = v.shape().len().checked_sub(behind.len() + 1).map_or(1, |d| v.shape()[d]);
                if given != 1 {
                    check_count(m, given)?;
                }
                Dims::of(&[given])
            }
        };
        let target = Dims::joined(&[&whole[..self.axis], &selected, behind]).map_err(|e| e.in_op("index"))?;
        let mut v = v.clone();
        if v.device() != a.device() {
            let here = NDArray::deferred(a.device(), v.dtype(), v.shape())?;
            copy_into(&here, In::Array(&v))?;
            v = here;
        }
        fit(&v, &target, a)
    }
}

/// A key taken apart.
struct Keyed {
    basic: SmallVec<[Index; 8]>,
    groups: SmallVec<[Group; 2]>,
    /// Where what the arrays select stands, if nothing is between them.
    first: usize,
    apart: bool,
}

impl Keyed {
    fn new(a: &NDArray, key: &[Part]) -> Result<Keyed> {
        let shape = a.shape();
        if key.iter().filter(|part| matches!(part, Part::Basic(Index::Ellipsis))).count() > 1 {
            return Err(two_ellipses());
        }
        let named: usize = key.iter().map(|part| part.axes()).sum();
        if named > shape.len() {
            return Err(Error::new(Cause::TooManyIndices { given: named, shape: *shape }).in_op("index"));
        }
        let mut keyed = Keyed { basic: SmallVec::new(), groups: SmallVec::new(), first: 0, apart: false };
        let (mut axis, mut at) = (0, 0);
        let (mut begun, mut ended) = (false, false);
        for part in key {
            if part.selects() {
                keyed.apart |= ended;
                if !std::mem::replace(&mut begun, true) {
                    keyed.first = at;
                }
            } else {
                ended |= begun;
            }
            let axes = match part {
                Part::Basic(Index::Ellipsis) => shape.len() - named,
                part => part.axes(),
            };
            match part {
                Part::Basic(index) => {
                    keyed.basic.push(*index);
                    at += match index {
                        Index::At(_) => 0,
                        Index::NewAxis => 1,
                        _ => axes,
                    };
                }
                part => {
                    let mut array = part.array(a)?;
                    if array.dtype() == DType::Bool && array.shape()[..] != shape[axis..axis + axes] {
                        array = misfit_mask(&array, shape, axis)?;
                    }
                    keyed.groups.push(Group { array, source: axis, axes, at });
                    keyed.basic.extend((0..axes).map(|_| Index::Range(None, None, 1)));
                    at += axes;
                }
            }
            axis += axes;
        }
        Ok(keyed)
    }
}

impl Part {
    /// Axes of the array that it stands for; an ellipsis takes what is left.
    fn axes(&self) -> usize {
        match self {
            Part::Basic(Index::At(_) | Index::Range(..)) => 1,
            Part::Basic(_) | Part::Truth(_) => 0,
            Part::Array(v) if v.dtype() == DType::Bool => v.shape().len(),
            Part::Array(_) => 1,
        }
    }

    /// Whether it takes part in the broadcasting of arrays.
    fn selects(&self) -> bool {
        matches!(self, Part::Array(_) | Part::Truth(_) | Part::Basic(Index::At(_)))
    }

    fn array(&self, a: &NDArray) -> Result<NDArray> {
        match self {
            Part::Array(v) => Ok(v.clone()),
            Part::Truth(yes) => full(a.device(), DType::Bool, &Dims::EMPTY, Scalar::Bool(*yes)),
            Part::Basic(_) => Err(wrong("an array is needed".into())),
        }
    }
}

/// The positions that a mask selects whose shape is not that of its axes. As in NumPy its axes of size 0 fit any size, and it
/// selects nothing then.
#[cold]
fn misfit_mask(mask: &NDArray, shape: &Dims, axis: usize) -> Result<NDArray> {
    if mask.shape().iter().zip(&shape[axis..]).all(|(m, n)| *m == 0 || m == n) {
        return full(mask.device(), DType::I64, &Dims::of(&[0]), Scalar::Int(0));
    }
    Err(wrong(format!("a mask of shape {} does not fit {shape} from axis {axis} on", mask.shape())))
}

/// The order of `n` axes in which those of the groups come first.
fn in_front(groups: &[Group], n: usize) -> Dims {
    let mut order = Dims::EMPTY;
    groups.iter().flat_map(|g| g.at..g.at + g.axes).for_each(|d| order.push(d as isize));
    for d in 0..n as isize {
        if !order.contains(&d) {
            order.push(d);
        }
    }
    order
}

/// The arrays of a key as one.
fn joined(a: &NDArray, mut groups: SmallVec<[Group; 2]>) -> Result<What> {
    if let [one] = &groups[..]
        && one.array.dtype() == DType::Bool
    {
        return Ok(What::Mask(one.array.clone()));
    }
    let mut shape = Dims::EMPTY;
    let (mut sizes, mut named) = (Dims::EMPTY, Dims::EMPTY);
    for g in &mut groups {
        let size: isize = a.shape()[g.source..g.source + g.axes].iter().product();
        if g.array.dtype() == DType::Bool {
            g.array = run(&rows::FLAT_NONZERO, &[In::Array(&g.array)], &Attrs::new())?;
        }
        let with = g.array.shape();
        shape = shape
            .broadcast(with)
            .ok_or_else(|| wrong(format!("the indices broadcast together: {shape} does not broadcast with {with}")))?;
        if !sizes.try_push(size) || !named.try_push(g.source as isize) {
            return Err(wrong("the key has too many arrays".into()));
        }
    }
    // As in NumPy, indices that select nothing may be anything, unless they are single numbers.
    let empty = shape.contains(&0);
    for (g, size) in groups.iter().zip(sizes.iter()).filter(|(g, _)| !empty || g.array.shape().is_empty()) {
        check_now(&g.array, g.source, *size as usize)?;
    }
    if let [one] = &groups[..] {
        return Ok(What::Positions(one.array.clone(), one.source));
    }
    let arrays: SmallVec<[In<'_>; 4]> = groups.iter().map(|g| In::Array(&g.array)).collect();
    let attrs = Attrs::of(&[AttrVal::Ints(sizes), AttrVal::Ints(named), rows::JOIN.attrs[2].default]);
    Ok(What::Positions(run(&rows::JOIN, &arrays, &attrs)?, 0))
}

/// Refuses positions out of range at once, where they are few and known: else the op does when it runs.
fn check_now(indices: &NDArray, axis: usize, size: usize) -> Result {
    let operand = [In::Array(indices)];
    if indices.size() > CHECKED_AT_ONCE || !indices.device().is_cpu() {
        return Ok(());
    }
    let Some(_held) = Operands::take(&operand) else { return Ok(()) };
    kernels::check(&indices.view(), axis, size).map_err(|e| match e.cause() {
        Cause::Value(text) => wrong(text.clone()),
        _ => e.in_op("index"),
    })
}

/// Refuses values that are not as many as a mask has true ones, once those are known.
fn check_count(mask: &NDArray, given: isize) -> Result {
    let places = run(&rows::FLAT_NONZERO, &[In::Array(mask)], &Attrs::new())?.shape()[0];
    if places == given {
        return Ok(());
    }
    let text = format!("{given} values do not fit the {places} places where the mask is true");
    Err(Error::new(Cause::Shape(text)).in_op("assignment"))
}

fn run(op: &'static Op, ins: &[In<'_>], attrs: &Attrs) -> Result<NDArray> {
    let mut outs = invoke(op, ins, attrs).map_err(|e| e.of_op("index"))?;
    outs.pop().ok_or_else(|| wrong("there is no result".into()))
}
