//! A binary heap that reports the position of each member, so that any member can be removed.

/// Sort key of a member: the value that is compared first, then an arrival number.
pub(crate) type Rank = (u64, u64);

/// A binary heap of members with sort keys; the member with the smallest key is first. The caller
/// stores the position of each member. The heap calls a function of the caller whenever a position
/// changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    heap: Vec<(Rank, u32)>,
}

impl Ranked {
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        self.heap.first().map(|entry| entry.1)
    }

    pub(crate) fn members(&self) -> &[(Rank, u32)] {
        &self.heap
    }

    #[inline]
    pub(crate) fn insert(&mut self, rank: Rank, member: u32, mut moved: impl FnMut(u32, u32)) {
        self.heap.push((rank, member));
        if self.heap.len() == 1 {
            return moved(member, 0);
        }
        self.rise(self.heap.len() - 1, moved);
    }

    #[inline]
    pub(crate) fn remove(&mut self, position: u32, moved: impl FnMut(u32, u32)) {
        let position = position as usize;
        let last = self.heap.pop().expect("a member is removed once");
        if position < self.heap.len() {
            self.replace(position, last, moved);
        }
    }

    /// Changes the sort key of the member at `position`.
    #[inline]
    pub(crate) fn change(&mut self, position: u32, rank: Rank, moved: impl FnMut(u32, u32)) {
        let member = self.heap[position as usize].1;
        if let [only] = &mut *self.heap {
            only.0 = rank;
            return;
        }
        self.replace(position as usize, (rank, member), moved);
    }

    fn replace(&mut self, at: usize, entry: (Rank, u32), moved: impl FnMut(u32, u32)) {
        let rises = at > 0 && entry < self.heap[(at - 1) / 2];
        self.heap[at] = entry;
        if rises {
            self.rise(at, moved);
        } else {
            self.sink(at, moved);
        }
    }

    fn rise(&mut self, mut at: usize, mut moved: impl FnMut(u32, u32)) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[at] = self.heap[parent];
            moved(self.heap[at].1, at as u32);
            at = parent;
        }
        self.heap[at] = entry;
        moved(entry.1, at as u32);
    }

    fn sink(&mut self, mut at: usize, mut moved: impl FnMut(u32, u32)) {
        let entry = self.heap[at];
        loop {
            let left = 2 * at + 1;
            if left >= self.heap.len() {
                break;
            }
            let right = left + 1;
            let child = match right < self.heap.len() && self.heap[right] < self.heap[left] {
                true => right,
                false => left,
            };
            if entry <= self.heap[child] {
                break;
            }
            self.heap[at] = self.heap[child];
            moved(self.heap[at].1, at as u32);
            at = child;
        }
        self.heap[at] = entry;
        moved(entry.1, at as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn any_member_leaves_and_order_stays() {
        let mut stream = Stream::new(9, 0, 0);
        let mut positions = vec![u32::MAX; 400];
        let mut ranks: Vec<Option<Rank>> = vec![None; 400];
        let mut ranked = Ranked::default();
        for step in 0..20_000u64 {
            let member = stream.below(400);
            let rank = (stream.below(50) as u64, step);
            let moved = |member: u32, at: u32| positions[member as usize] = at;
            match ranks[member] {
                None => {
                    ranked.insert(rank, member as u32, moved);
                    ranks[member] = Some(rank);
                }
                Some(_) if stream.below(2) == 0 => {
                    let at = positions[member];
                    ranked.remove(at, |member, at| positions[member as usize] = at);
                    ranks[member] = None;
                }
                Some(_) => {
                    let at = positions[member];
                    ranked.change(at, rank, |member, at| positions[member as usize] = at);
                    ranks[member] = Some(rank);
                }
            }
            let least = (0..400)
                .filter(|&m| ranks[m].is_some())
                .min_by_key(|&m| ranks[m]);
            assert_eq!(ranked.first(), least.map(|member| member as u32));
        }
    }
}
