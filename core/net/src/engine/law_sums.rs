//! Sums that a replication collects to check laws that hold for every run, such as Little's law.

use std::collections::BTreeMap;

use crate::marking::bucket::NONE;

/// A station: servers that serve tokens. `idle` is the place of its idle servers. Tokens in service
/// are in transit to the place `served`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Station {
    pub(super) idle: usize,
    pub(super) served: usize,
}

/// Sums that a replication collects to check Little's law, the utilisation law and the conservation
/// of tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Laws {
    pub(super) stations: Vec<Station>,
    /// For each place, the station whose served tokens enter it, or NONE. Empty if the run has no
    /// stations.
    pub(super) station_of: Vec<u32>,
    /// For each station, the sum in ns of the service times of all services that have begun.
    /// `services` has the number of these services.
    pub(super) service_ns: Vec<u128>,
    pub(super) services: Vec<u64>,
    /// For each place, the number of tokens that output arcs with a computed count put into it.
    pub(super) counted: BTreeMap<u32, u64>,
}

impl Laws {
    /// Counts the tokens that an output arc puts into a place. Called only for an arc whose number
    /// of tokens is computed.
    pub(crate) fn make(&mut self, place: u32, tokens: u64) {
        *self.counted.entry(place).or_default() += tokens;
    }

    /// Whether sums are collected from which Little's law and the utilisation law are checked.
    pub(crate) fn are_collected(&self) -> bool {
        !self.station_of.is_empty()
    }

    /// Records that a token is sent to a place with this delay in ns. If the place receives the
    /// served tokens of a station, the delay is a service time.
    #[inline(always)]
    pub(crate) fn serve(&mut self, place: u32, delay_ns: u64) {
        match self.station_of.get(place as usize) {
            Some(&at) if at != NONE => {
                self.service_ns[at as usize] += u128::from(delay_ns);
                self.services[at as usize] += 1;
            }
            _ => {}
        }
    }
}
