//! Which arrays lie in the same storage: asked of the few operands of most ops, and of the hundreds of an optimizer's step.
use crate::array::NDArray;
use smallvec::SmallVec;

/// Arrays in the order of their storages.
pub(crate) struct Beside<'a>(SmallVec<[&'a NDArray; 8]>);

impl<'a> Beside<'a> {
    pub(crate) fn of(arrays: impl Iterator<Item = &'a NDArray>) -> Beside<'a> {
        let mut list: SmallVec<[&NDArray; 8]> = arrays.collect();
        // In a storage as they were listed.
        list.sort_by_key(|a| a.storage().id());
        Beside(list)
    }

    /// Those in the storage of `a`.
    pub(crate) fn in_storage_of(&self, a: &NDArray) -> &[&'a NDArray] {
        let id = a.storage().id();
        let first = self.0.partition_point(|b| b.storage().id() < id);
        let n = self.0[first..].iter().take_while(|b| b.storage().id() == id).count();
        &self.0[first..first + n]
    }

    /// One array of each storage, with all that lie in it.
    pub(crate) fn storages(&self) -> impl Iterator<Item = &[&'a NDArray]> {
        self.0.chunk_by(|a, b| a.storage().same(b.storage()))
    }

    /// One of two that have an element in common.
    pub(crate) fn sharing(&self) -> Option<&'a NDArray> {
        self.storages().find_map(|all| {
            (1..all.len()).find(|&i| all[..i].iter().any(|before| before.shares_elements(all[i]))).map(|i| all[i])
        })
    }
}
