//! The shape of a network, where its parameters stand in their vector, and what stands where in the reserve.
use gluonish_base::{Cause, Result};
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    Relu,
    Tanh,
    Lstm,
    Gru,
}

impl Cell {
    pub fn gates(self) -> usize {
        match self {
            Cell::Relu | Cell::Tanh => 1,
            Cell::Lstm => 4,
            Cell::Gru => 3,
        }
    }
    /// Values that are kept for each unit and step: the gates, and of GRU the recurrent part of the new state.
    pub(super) fn kept(self) -> usize {
        match self {
            Cell::Gru => 4,
            other => other.gates(),
        }
    }
}

/// Bounds for the state of an LSTM's cells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clip {
    pub min: f64,
    pub max: f64,
    /// NaN becomes `min`; else it stays.
    pub nan: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Net {
    pub cell: Cell,
    pub layers: usize,
    /// 1 or 2.
    pub directions: usize,
    pub steps: usize,
    pub batch: usize,
    /// Width of the data.
    pub input: usize,
    pub hidden: usize,
    /// Width of states and outputs where they are projections of the hidden units.
    pub projection: Option<usize>,
    pub clip: Option<Clip>,
    /// Share of a layer's outputs that the next one does not see.
    pub dropout: f64,
}

/// Values at the start of the reserve that say which random numbers were drawn.
pub(super) const TICKET: usize = 16;

/// Places of the parameters of one layer and direction.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    /// (gates * hidden, width of the input)
    pub wx: usize,
    /// (gates * hidden, width of the state)
    pub wh: usize,
    /// (projection, hidden)
    pub wr: usize,
    pub bx: usize,
    pub bh: usize,
}

/// Places, in the reserve, of one layer and direction. States have one step more than there are: `h` and `c` before and
/// after each.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    pub gates: usize,
    pub h: usize,
    pub c: usize,
    pub tanh_c: usize,
}

impl Net {
    pub fn gates(&self) -> usize {
        self.cell.gates()
    }
    /// Width of a state.
    pub fn state(&self) -> usize {
        self.projection.unwrap_or(self.hidden)
    }
    /// Width of a layer's output.
    pub fn output(&self) -> usize {
        self.directions * self.state()
    }
    /// Width of a layer's input.
    pub(super) fn width(&self, layer: usize) -> usize {
        if layer == 0 { self.input } else { self.output() }
    }
    pub(super) fn rows(&self) -> usize {
        self.steps * self.batch
    }

    /// Length of the parameter vector; `None` where it is beyond any memory.
    pub fn parameters(&self) -> Option<usize> {
        let weights = self.weights_before(self.layers, 0)?;
        let biases = self.layers.checked_mul(self.directions)?.checked_mul(self.gates())?.checked_mul(self.hidden)?;
        weights.checked_add(biases.checked_mul(2)?)
    }
    /// Weights of the layers and directions before one.
    fn weights_before(&self, layer: usize, direction: usize) -> Option<usize> {
        let each = |width: usize| {
            let gates = self.gates().checked_mul(self.hidden)?;
            let projection = self.projection.map_or(Some(0), |p| p.checked_mul(self.hidden))?;
            gates.checked_mul(width.checked_add(self.state())?)?.checked_add(projection)
        };
        let first = each(self.width(0))?.checked_mul(if layer == 0 { direction } else { self.directions })?;
        if layer == 0 {
            return Some(first);
        }
        let others = (layer - 1).checked_mul(self.directions)?.checked_add(direction)?;
        first.checked_add(each(self.width(1))?.checked_mul(others)?)
    }
    pub(super) fn weights(&self, layer: usize, direction: usize) -> Weights {
        // The vector exists, so nothing overflows.
        let wx = self.weights_before(layer, direction).unwrap_or(0);
        let gates = self.gates() * self.hidden;
        let wh = wx + gates * self.width(layer);
        let biases = self.weights_before(self.layers, 0).unwrap_or(0);
        let bx = biases + (layer * self.directions + direction) * 2 * gates;
        Weights { wx, wh, wr: wh + gates * self.state(), bx, bh: bx + gates }
    }

    fn kept_each(&self) -> Option<usize> {
        let (rows, more) = (self.steps.checked_mul(self.batch)?, self.steps.checked_add(1)?.checked_mul(self.batch)?);
        let gates = rows.checked_mul(self.cell.kept())?.checked_mul(self.hidden)?;
        let states = gates.checked_add(more.checked_mul(self.state())?)?;
        if self.cell != Cell::Lstm {
            return Some(states);
        }
        states.checked_add(more.checked_mul(self.hidden)?)?.checked_add(rows.checked_mul(self.hidden)?)
    }
    fn outputs_each(&self) -> Option<usize> {
        self.steps.checked_mul(self.batch)?.checked_mul(self.output())
    }
    /// Length of the reserve; an error where it is beyond any memory.
    pub fn reserve(&self) -> Result<usize> {
        let size = || {
            let each = self.kept_each()?.checked_mul(self.directions)?.checked_add(self.outputs_each()?)?;
            each.checked_mul(self.layers)?.checked_add(TICKET).filter(|n| *n < isize::MAX as usize / 8)
        };
        size().ok_or_else(|| Cause::Shape("the network is too large for any memory".into()).into())
    }
    fn layer_at(&self, layer: usize) -> usize {
        let each = self.kept_each().unwrap_or(0) * self.directions + self.outputs_each().unwrap_or(0);
        TICKET + layer * each
    }
    pub(super) fn kept(&self, layer: usize, direction: usize) -> Kept {
        let gates = self.layer_at(layer) + direction * self.kept_each().unwrap_or(0);
        let h = gates + self.rows() * self.cell.kept() * self.hidden;
        let c = h + (self.rows() + self.batch) * self.state();
        Kept { gates, h, c, tanh_c: c + (self.rows() + self.batch) * self.hidden }
    }
    /// Where the output of a layer stands in the reserve.
    pub(super) fn outputs(&self, layer: usize) -> Range<usize> {
        let at = self.layer_at(layer) + self.directions * self.kept_each().unwrap_or(0);
        at..at + self.outputs_each().unwrap_or(0)
    }

    /// The steps of a direction in the order in which they are taken.
    pub(super) fn order(&self, direction: usize) -> impl DoubleEndedIterator<Item = usize> + Clone + use<> {
        let steps = self.steps;
        (0..steps).map(move |s| if direction == 0 { s } else { steps - 1 - s })
    }
    /// Which of the states (0 to `steps`) stand before and after a step.
    pub(super) fn states(direction: usize, step: usize) -> (usize, usize) {
        if direction == 0 { (step, step + 1) } else { (step + 1, step) }
    }
    /// Which states stand before the first and after the last step that is taken.
    pub(super) fn ends(&self, direction: usize) -> (usize, usize) {
        if direction == 0 { (0, self.steps) } else { (self.steps, 0) }
    }
}
