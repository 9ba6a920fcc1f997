//! Products of attention on queries, keys and values that stand side by side, head by head; and rotary embedding.
use crate::attr::{Attr, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, Meta, Metas, Op, input, rows};
use crate::infer::require_float;
use crate::rows::{SLICE, Slice};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::rotary::{self, Turn};
use gluonish_kernels::{AttrVal, Attrs};

const HEADS: &[Attr] = &[Attr::int_required("heads", "Number of heads.").between(1, i32::MAX as i64)];

/// Of (length, batch, heads * parts * width): part `i` as (batch * heads, length, width).
fn part(r: &Rule<'_>, v: V, what: &str, parts: isize, i: isize) -> Result<V> {
    let (s, heads) = (r.shape(v), r.attrs().int(0) as isize);
    if s.len() != 3 || s[2] % (heads * parts) != 0 {
        let text = format!("{what} of shape {s} must be (length, batch, {heads} heads * {parts} * width)");
        return Err(Cause::Shape(text).into());
    }
    let width = s[2] / (heads * parts);
    let apart = r.reshape(v, Dims::of(&[s[0], s[1], heads, parts, width]));
    let mut slice = Slice::whole(&r.shape(apart));
    (slice.begin[3], slice.size[3]) = (i, 1);
    let one = r.call(&SLICE, &[apart], &slice.attrs());
    let one = r.reshape(one, Dims::of(&[s[0], s[1] * heads, width]));
    Ok(r.transpose(one, Dims::of(&[1, 0, 2])))
}
/// Products of queries with keys, divided by the root of their width: (batch * heads, length, length).
fn scores(r: &Rule<'_>, q: V, k: V) -> Result<V> {
    let (a, b) = (r.shape(q), r.shape(k));
    if a[0] != b[0] || a[2] != b[2] {
        let text = format!("queries of {} sequences of width {} do not fit keys of {} and {}", a[0], a[2], b[0], b[2]);
        return Err(Cause::Shape(text).into());
    }
    Ok(r.matmul(r.mul(q, 1.0 / (a[2] as f64).sqrt()), r.swap_last(k)))
}
/// Values mixed by attention (batch * heads, length, length), as (length, batch, heads * width).
fn mixed(r: &Rule<'_>, attention: V, v: V) -> Result<V> {
    let (a, b, heads) = (r.shape(attention), r.shape(v), r.attrs().int(0) as isize);
    if a.len() != 3 || a[0] != b[0] || a[2] != b[1] {
        let text = format!("attention of shape {a} does not fit values of {} sequences of length {}", b[0], b[1]);
        return Err(Cause::Shape(text).into());
    }
    let y = r.transpose(r.matmul(attention, v), Dims::of(&[1, 0, 2]));
    Ok(r.reshape(y, Dims::of(&[a[1], b[0] / heads, heads * b[2]])))
}

/// Positions up to here are exact as floating-point numbers.
const EXACT: i64 = 1 << 53;

const QKV: &[Input] = &[input("queries_keys_values")];
const QKV_ATTENTION: &[Input] = &[input("queries_keys_values"), input("attention")];
const Q_KV: &[Input] = &[input("queries"), input("keys_values")];
const KV_ATTENTION: &[Input] = &[input("keys_values"), input("attention")];

const fn product(name: &'static str, doc: &'static str, inputs: &'static [Input], body: Body) -> Op {
    Op::new(name, doc, inputs, body).attrs(HEADS)
}

fn turn(a: &Attrs, shape: &Dims, back: bool) -> Result<Turn> {
    let at = axis(a.int(0), shape)?;
    Ok(Turn { axis: at, offset: a.int(1), base: a.float(2), interleaved: a.bool(3), back: back != a.bool(4) })
}
fn infer_rotary(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "data")?;
    let n = v.shape.len();
    if n < 2 || v.shape[n - 1] % 2 == 1 {
        let text = format!("data of shape {} must have at least 2 axes, the last of even size", v.shape);
        return Err(Cause::Shape(text).into());
    }
    if turn(c.attrs, v.shape, false)?.axis == n - 1 {
        return Err(
            Cause::Value(format!("axis={} is the last axis, which is the one that turns", c.attrs.int(0))).into()
        );
    }
    outs.push(Meta { shape: *v.shape, dtype: v.dtype });
    Ok(())
}

rows! {
    SELFATT_QK = product("interleaved_matmul_selfatt_qk", "Products of queries and keys, divided by the root of their width: (batch * heads, length, length) of (length, batch, heads * 3 * width).", QKV, Body::Compose(|r, v| {
            let (q, k) = (r.ok(part(r, v[0], "queries_keys_values", 3, 0)), r.ok(part(r, v[0], "queries_keys_values", 3, 1)));
            r.ok(guarded(r, &[q, k], scores))
        })).nd(&["contrib.interleaved_matmul_selfatt_qk"]);
    SELFATT_VALATT = product("interleaved_matmul_selfatt_valatt", "Values mixed by attention: (length, batch, heads * width).", QKV_ATTENTION, Body::Compose(|r, v| {
            let values = r.ok(part(r, v[0], "queries_keys_values", 3, 2));
            r.ok(guarded(r, &[v[1], values], mixed))
        })).nd(&["contrib.interleaved_matmul_selfatt_valatt"]);
    ENCDEC_QK = product("interleaved_matmul_encdec_qk", "Products of queries and keys of two sequences, divided by the root of their width.", Q_KV, Body::Compose(|r, v| {
            let (q, k) = (r.ok(part(r, v[0], "queries", 1, 0)), r.ok(part(r, v[1], "keys_values", 2, 0)));
            r.ok(guarded(r, &[q, k], scores))
        })).nd(&["contrib.interleaved_matmul_encdec_qk"]);
    ENCDEC_VALATT = product("interleaved_matmul_encdec_valatt", "Values of another sequence mixed by attention: (length, batch, heads * width).", KV_ATTENTION, Body::Compose(|r, v| {
            let values = r.ok(part(r, v[0], "keys_values", 2, 1));
            r.ok(guarded(r, &[v[1], values], mixed))
        })).nd(&["contrib.interleaved_matmul_encdec_valatt"]);
    ROTARY = Op::new("rotary_embedding", "Pairs of values of the last axis turned by angles that grow with their position: `(position + offset) * base ** (-i / pairs)` for pair i.", DATA, Body::Kernel(|cx, a, out| {
            rotary::rotate(cx, &a.ins[0], turn(a.attrs, a.ins[0].shape, false)?, &out[0])
        }))
        .attrs(&[
            Attr::int("axis", -2, "The axis of positions."),
            Attr::int("offset", 0, "Position of the first element along it.").between(-EXACT, EXACT),
            Attr::float("base", 10000.0, "What the angles of later pairs are smaller by.").within(1e-3, 1e12),
            Attr::bool("interleaved", false, "Whether neighbours are a pair; else a value of the first half and its counterpart in the second."),
            Attr::bool("inverse", false, "Turn the other way round."),
        ])
        .infer(infer_rotary).cost(Cost::Bytes(8.0)).nd(&["contrib.rotary_embedding"])
        .grad(&[], |r| r.grad(0, || {
            let a = r.attrs();
            r.call(&ROTARY, &[r.dy()], &[a[0], a[1], a[2], a[3], AttrVal::Bool(!a.bool(4))])
        }));
}

/// Calls `f` with two operands, unless one of them could not be made: its error is known already.
fn guarded(r: &Rule<'_>, v: &[V; 2], f: fn(&Rule<'_>, V, V) -> Result<V>) -> Result<V> {
    if v.iter().all(|v| matches!(v, V::Node(_))) { f(r, v[0], v[1]) } else { Ok(v[0]) }
}
