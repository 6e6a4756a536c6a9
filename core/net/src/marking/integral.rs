//! Collects two values for a place: the time integral of the number of tokens in it, and the sum of
//! the durations for which tokens stay in it. By Little's law, the two are equal.

use super::area::Area;
use super::Marking;

impl Marking<'_> {
    /// As `count`, for a place without inhibitor and reset arcs, while Little's law is not checked.
    #[inline(always)]
    pub(crate) fn count_in_area(&mut self, place: u32, change: i32) {
        let count = &mut self.counts[place as usize];
        let old = *count;
        *count = old.wrapping_add_signed(change);
        if let Some(area) = &mut self.areas[place as usize] {
            area.change(self.now_ns, old, *count);
        }
    }

    /// Starts or restarts, at the present time, the time integral of a place's number of tokens. At
    /// a restart, the integral up to now is added to `earlier_ns`.
    pub(crate) fn watch(&mut self, place: usize) {
        if !std::mem::replace(&mut self.counted[place], true) {
            self.counts[place] = self.here(place).count() as u32;
        }
        let most = self.counts[place];
        let before = self.areas[place].map(|_| self.area(place));
        self.areas[place] = Some(Area {
            since_ns: self.now_ns,
            token_ns: 0,
            most,
            earlier_ns: before.map_or(0, |area| area.whole_ns()),
        });
    }

    /// Starts recording the stays of a place's tokens, and the time integral of their number. To be
    /// called at time zero.
    pub(crate) fn watch_stays(&mut self, place: usize) {
        self.watch(place);
        let came = u64::from(self.counts[place]);
        self.stays[place].get_or_insert_with(Box::default).came = came;
    }

    /// The tokens available in a place.
    fn here(&self, place: usize) -> impl Iterator<Item = u32> + '_ {
        let available = self.available();
        available.filter(move |&token| self.nodes.tokens[token as usize].place as usize == place)
    }

    /// Number of stays in a place and the sum of their durations up to now, ns. Includes stays that
    /// have not ended. None if the place is not observed.
    pub(crate) fn stays(&self, place: usize) -> Option<(u64, u128)> {
        let stays = self.stays[place].as_ref()?;
        let here = self.here(place).map(|token| stays.since(token as usize));
        let lasting = here.map(|since_ns| u128::from(self.now_ns - since_ns));
        Some((stays.came, stays.stayed_ns + lasting.sum::<u128>()))
    }

    /// The time integral of an observed place's number of tokens up to now. Panics if the place is
    /// not observed.
    pub(crate) fn area(&self, place: usize) -> Area {
        let mut area = self.areas[place].expect("the place is watched");
        let lasted = u128::from(self.now_ns - area.since_ns);
        area.token_ns += lasted * u128::from(self.counts[place]);
        area.since_ns = self.now_ns;
        area
    }

    /// Subtracts 1 ns from the sum of the stays, so that a test can observe a violation of Little's
    /// law.
    #[cfg(test)]
    pub(crate) fn lose_a_stay(&mut self, place: usize) {
        let stays = self.stays[place].as_mut().expect("the place is watched");
        stays.stayed_ns -= 1;
    }

    /// The indices of the places whose stays are recorded. Little's law is asserted for these
    /// places.
    pub(crate) fn little_places(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.stays.len()).filter(|&place| self.stays[place].is_some())
    }
}
