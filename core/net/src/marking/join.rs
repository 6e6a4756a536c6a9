//! Finds which transitions with several input places can fire. Tokens wait in buckets: one for each
//! input arc and each key (the values of the joined fields). The buckets of one transition and key
//! form a group. If each bucket of a group has a token, the group is ready, and the transition can
//! fire.

use super::group::Group;
use super::Marking;
use crate::compiled::Key;
use crate::marking::bucket::{Bucket, NONE};
use crate::marking::ranked::Rank;

impl Marking<'_> {
    /// Returns the bucket for a token whose only joined field has the value `word`. Called if the
    /// table has no entry for the value. If the value is too large for the table, the bucket is
    /// looked up by hash. Otherwise the buckets of the value and their table entries are created.
    #[inline(never)]
    pub(super) fn bucket_of_one(
        &mut self,
        transition: u32,
        view: u32,
        slot: u32,
        word: u64,
    ) -> u32 {
        if word >= self.direct_limits[transition as usize] {
            return self.bucket_of_key(transition, slot, [word, 0, 0]);
        }
        let net = self.net;
        let made = self.make_group(transition, [word, 0, 0], false);
        let index = word as usize;
        let first = self.groups[made as usize].first_bucket;
        let definition = &net.transitions[transition as usize];
        for (bucket, &arc) in (first..).zip(&definition.joined) {
            let input = &definition.inputs[arc as usize];
            let direct = &mut self.direct[input.view as usize];
            if index >= direct.len() {
                direct.resize(index + 1, NONE);
            }
            direct[index] = bucket;
        }
        self.direct[view as usize][index]
    }

    /// The bucket for a token whose joined fields have the values `key`. Creates the buckets of the
    /// key if the key is new. `slot` is the arc's position among the joined arcs of the transition.
    pub(super) fn bucket_of_key(&mut self, transition: u32, slot: u32, key: Key) -> u32 {
        let join = &self.joins[transition as usize];
        let group = match join.by_key.get(&key) {
            Some(&group) => group,
            None => {
                let made = self.make_group(transition, key, true);
                self.joins[transition as usize].by_key.insert(key, made);
                made
            }
        };
        self.groups[group as usize].first_bucket + slot
    }

    fn make_group(&mut self, transition: u32, key: Key, hashed: bool) -> u32 {
        if let Some(group) = self.joins[transition as usize].free.pop() {
            self.group_keys[group as usize] = key;
            self.groups[group as usize].hashed = hashed;
            return group;
        }
        let net = self.net;
        let definition = &net.transitions[transition as usize];
        let index = self.groups.len() as u32;
        let first_bucket = self.buckets.len() as u32;
        let lead = definition.inputs[definition.joined[definition.lead as usize] as usize].view;
        let group = Group {
            transition,
            first_bucket,
            lead_bucket: first_bucket + definition.lead,
            lead_discipline: net.views[lead as usize].discipline,
            filled: 0,
            missing: definition.joined.len() as u32,
            position: NONE,
            hashed,
        };
        self.groups.push(group);
        self.group_keys.push(key);
        for &arc in &definition.joined {
            let view = definition.inputs[arc as usize].view;
            let bucket = Bucket::new(&net.views[view as usize], index);
            self.buckets.push(bucket);
        }
        index
    }

    /// Updates a group of buckets after the first token of `bucket` changed by an arrival. Returns
    /// true if every bucket of the group has a token: the transition's binding may then have
    /// changed.
    #[inline(always)]
    pub(super) fn group_gained(
        &mut self,
        group: u32,
        bucket: u32,
        was_empty: bool,
        token: u32,
    ) -> bool {
        let state = &mut self.groups[group as usize];
        state.filled += u32::from(was_empty);
        state.missing -= u32::from(was_empty);
        if state.missing > 0 {
            return false;
        }
        let Group {
            transition,
            lead_bucket,
            lead_discipline,
            position,
            ..
        } = *state;
        if position == NONE {
            let lead = match bucket == lead_bucket {
                true => token,
                false => self.first_token(lead_bucket),
            };
            let rank = self.rank(lead, lead_discipline);
            let groups = &mut self.groups;
            let moved = |group: u32, at| groups[group as usize].position = at;
            self.joins[transition as usize]
                .ready
                .insert(rank, group, moved);
        } else if bucket == lead_bucket {
            self.rank_again(group);
        }
        true
    }

    /// Updates a group of buckets after `bucket` lost its first token. Returns true if every bucket
    /// of the group had a token before: the transition's binding may then have changed.
    #[inline(always)]
    pub(super) fn group_lost(&mut self, group: u32, bucket: u32, is_empty: bool) -> bool {
        let state = &mut self.groups[group as usize];
        state.filled -= u32::from(is_empty);
        state.missing += u32::from(is_empty);
        let Group {
            transition,
            lead_bucket,
            filled,
            position,
            hashed,
            ..
        } = *state;
        if position != NONE {
            if is_empty {
                state.position = NONE;
                let groups = &mut self.groups;
                let moved = |group: u32, at| groups[group as usize].position = at;
                self.joins[transition as usize]
                    .ready
                    .remove(position, moved);
            } else if bucket == lead_bucket {
                self.rank_again(group);
            }
        }
        if filled == 0 && hashed {
            let join = &mut self.joins[transition as usize];
            join.by_key.remove(&self.group_keys[group as usize]);
            join.free.push(group);
        }
        position != NONE
    }

    fn rank_again(&mut self, group: u32) {
        let Group {
            transition,
            lead_bucket,
            lead_discipline,
            position,
            ..
        } = self.groups[group as usize];
        let rank = self.rank(self.first_token(lead_bucket), lead_discipline);
        let groups = &mut self.groups;
        let moved = |group: u32, at| groups[group as usize].position = at;
        self.joins[transition as usize]
            .ready
            .change(position, rank, moved);
    }

    #[inline(always)]
    fn first_token(&self, bucket: u32) -> u32 {
        let first = self.buckets[bucket as usize].first();
        self.nodes.token_of(first)
    }

    /// The group of buckets whose tokens the transition takes next: among the groups without an
    /// empty bucket, the one of lowest rank. None if every group has an empty bucket.
    #[inline]
    pub(crate) fn first_ready(&self, transition: usize) -> Option<u32> {
        self.joins[transition].ready.first()
    }

    pub(crate) fn ready(&self, transition: usize) -> &[(Rank, u32)] {
        self.joins[transition].ready.members()
    }
}
