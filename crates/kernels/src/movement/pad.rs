//! Arrays with a margin, and the way back for gradients.
use super::margin::Edge;
use super::staged::{contiguous, through};
use crate::by_dtype;
use crate::dispatch::Elem;
use crate::view::{Cx, Out, View};
use crate::walk::Shared;
use gluonish_base::{Cause, DType, Dims, Result, Scalar, pool};
use half::{bf16, f16};

/// Values of a chunk, about.
const CHUNK: usize = 1 << 16;

/// How the two arrays lie to each other. The last axis that has a margin, with all behind it, makes up a row.
struct Frame {
    /// For each axis before the row's, the source of each place.
    outer: Vec<Vec<Option<isize>>>,
    /// The same for the row's axis.
    row: Vec<Option<isize>>,
    /// Where in the row the values without the margin begin, and how many they are, in elements.
    begin: usize,
    core: usize,
    /// Elements behind each place of the row's axis.
    inner: usize,
}

impl Frame {
    fn new(shape: &Dims, whole: &Dims, before: &Dims, edge: Edge) -> Frame {
        let at = (0..shape.len()).rev().find(|d| shape[*d] != whole[*d]).unwrap_or(0);
        let sources = |d: usize| edge.sources(before[d], shape[d], whole[d]);
        let inner = shape.iter().skip(at + 1).product::<isize>() as usize;
        let (begin, core, row) = match shape.get(at) {
            Some(&n) => (before[at] as usize * inner, n as usize * inner, sources(at)),
            None => (0, 1, vec![Some(0)]), // a single value
        };
        Frame { outer: (0..at).map(sources).collect(), row, begin, core, inner }
    }

    /// Elements of a row with its margin.
    fn width(&self) -> usize {
        self.row.len() * self.inner
    }

    /// The row of the array without a margin that stands at row `index` of the one with it.
    fn source(&self, mut index: usize, shape: &Dims) -> Option<usize> {
        let (mut row, mut step) = (0, 1);
        for (sources, &n) in self.outer.iter().zip(shape.iter()).rev() {
            row += sources[index % sources.len()]? as usize * step;
            index /= sources.len();
            step *= n as usize;
        }
        Some(row)
    }

    /// Places of the row's margin, and the source of each.
    fn margin(&self) -> impl Iterator<Item = (usize, Option<isize>)> + '_ {
        let core = self.begin..self.begin + self.core;
        self.row.iter().enumerate().map(|(i, s)| (i * self.inner, *s)).filter(move |(i, _)| !core.contains(i))
    }

    /// Fills a row with its margin from the one without.
    fn fill<T: Copy>(&self, to: &mut [T], from: &[T], value: T) {
        to[self.begin..self.begin + self.core].copy_from_slice(from);
        for (at, source) in self.margin() {
            let place = &mut to[at..at + self.inner];
            match source.map(|s| s as usize * self.inner) {
                Some(s) => place.copy_from_slice(&from[s..s + self.inner]),
                None => place.fill(value),
            }
        }
    }

    /// Adds up what stands in the places of each value of a row.
    fn gather<T: Elem>(&self, sums: &mut [f64], row: &[T]) {
        for (s, v) in sums.iter_mut().zip(&row[self.begin..]) {
            *s += v.to_f64();
        }
        for (at, source) in self.margin() {
            let Some(source) = source.map(|s| s as usize * self.inner) else { continue };
            for (s, v) in sums[source..source + self.inner].iter_mut().zip(&row[at..]) {
                *s += v.to_f64();
            }
        }
    }

    /// Calls `f` with every row of the array with a margin that row `index` of the other stands in.
    fn places(&self, mut index: usize, shape: &Dims, mut f: impl FnMut(usize)) {
        let mut rows = vec![0];
        let mut step = 1;
        for (sources, &n) in self.outer.iter().zip(shape.iter()).rev() {
            let at = Some((index % n as usize) as isize);
            index /= n as usize;
            let here = (0..sources.len()).filter(|i| sources[*i] == at);
            rows = here.flat_map(|i| rows.iter().map(move |r| r + i * step).collect::<Vec<_>>()).collect();
            step *= sources.len();
        }
        rows.sort_unstable();
        rows.into_iter().for_each(&mut f);
    }
}

/// Writes `x` into the middle of `out`, `before[d]` elements from the beginning of each axis `d`, and fills the margin.
/// Types and numbers of axes agree.
pub fn pad(cx: &Cx, x: &View<'_>, before: &Dims, edge: Edge, value: Scalar, out: &Out<'_>) -> Result {
    let frame = Frame::new(x.shape, out.view.shape, before, edge);
    let width = frame.width();
    if out.view.size == 0 {
        return Ok(());
    }
    contiguous(cx, x, |x| {
        through(cx, out, |out| {
            let (rows, per) = (out.view.size / width, (CHUNK / width).max(1));
            let bytes = value.to_bytes(out.view.dtype);
            by_dtype!(bits out.view.dtype, T => {
                let (from, to) = (Shared(x.as_ptr::<T>()), Shared(out.view.as_ptr::<T>()));
                // SAFETY: eight bytes hold a value of any type.
                let value = unsafe { bytes.as_ptr().cast::<T>().read_unaligned() };
                pool::run(rows.div_ceil(per), cx.threads, |c| {
                    for row in c * per..rows.min((c + 1) * per) {
                        // SAFETY: a row of the output, which is contiguous; chunks do not share rows.
                        let to = unsafe { std::slice::from_raw_parts_mut(to.at((row * width) as isize), width) };
                        match frame.source(row, x.shape) {
                            Some(r) => {
                                let at = (r * frame.core) as isize;
                                // SAFETY: a row of the input, which is contiguous.
                                frame.fill(to, unsafe { std::slice::from_raw_parts(from.at(at), frame.core) }, value);
                            }
                            None => to.fill(value),
                        }
                    }
                });
            });
            Ok(())
        })
    })
}

/// Writes, for each element of an array without its margin, the sum of what `x` has in the element's places. Sums are
/// made in float64, in the order of the places.
pub fn pad_grad(cx: &Cx, x: &View<'_>, before: &Dims, edge: Edge, out: &Out<'_>) -> Result {
    contiguous(cx, x, |x| {
        through(cx, out, |out| match x.dtype {
            DType::F16 => gather::<f16>(cx, x, before, edge, out),
            DType::BF16 => gather::<bf16>(cx, x, before, edge, out),
            DType::F32 => gather::<f32>(cx, x, before, edge, out),
            DType::F64 => gather::<f64>(cx, x, before, edge, out),
            other => Err(Cause::DType(format!("{other} has no gradient")).into()),
        })
    })
}

fn gather<T: Elem>(cx: &Cx, x: &View<'_>, before: &Dims, edge: Edge, out: &Out<'_>) -> Result {
    let shape = out.view.shape;
    let frame = Frame::new(shape, x.shape, before, edge);
    if out.view.size == 0 {
        return Ok(());
    }
    let (core, width) = (frame.core, frame.width());
    let (rows, per) = (out.view.size / core, (CHUNK / width).max(1));
    let (from, to) = (Shared(x.as_ptr::<T>()), Shared(out.view.as_ptr::<T>()));
    pool::run(rows.div_ceil(per), cx.threads, |c| {
        let mut sums = vec![0.0; core];
        for row in c * per..rows.min((c + 1) * per) {
            sums.fill(0.0);
            frame.places(row, shape, |place| {
                // SAFETY: a row of the input, which is contiguous.
                frame
                    .gather(&mut sums, unsafe { std::slice::from_raw_parts(from.at((place * width) as isize), width) });
            });
            for (k, s) in sums.iter().enumerate() {
                // SAFETY: within a row of the output, which is contiguous; chunks do not share rows.
                unsafe { to.at((row * core + k) as isize).write(T::from_f64(*s)) };
            }
        }
    });
    Ok(())
}
