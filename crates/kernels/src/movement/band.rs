//! Ones between two diagonals of a matrix.
use super::staged::through;
use crate::by_dtype;
use crate::dispatch::Elem;
use crate::view::{Cx, Out};
use crate::walk::Shared;
use gluonish_base::{Cause, Result, pool};

/// Values of a chunk, about.
const CHUNK: usize = 1 << 16;

/// Writes 1 where the column less the row is from `low` to `high`, else 0.
pub fn band(cx: &Cx, low: i64, high: i64, out: &Out<'_>) -> Result {
    let [n, m] = **out.view.shape else {
        return Err(Cause::Shape(format!("a matrix is needed, not shape {}", out.view.shape)).into());
    };
    let (n, m) = (n as usize, m as usize);
    through(cx, out, |out| {
        let rows = (CHUNK / m.max(1)).max(1);
        by_dtype!(out.view.dtype, T => {
            let to = Shared(out.view.as_ptr::<T>());
            pool::run(if m == 0 { 0 } else { n.div_ceil(rows) }, cx.threads, |c| {
                for i in c * rows..n.min((c + 1) * rows) {
                    // SAFETY: a row of the output, which is contiguous; chunks do not share rows.
                    let row = unsafe { std::slice::from_raw_parts_mut(to.at((i * m) as isize), m) };
                    let column = |k: i64| k.saturating_add(i as i64).clamp(0, m as i64) as usize;
                    let (first, end) = (column(low), column(high.saturating_add(1)));
                    row.fill(T::from_i64(0));
                    if first < end {
                        row[first..end].fill(T::from_i64(1));
                    }
                }
            });
        });
        Ok(())
    })
}
