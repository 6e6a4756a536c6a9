//! Checks laws that hold for every run. They are checked at the end of a run, exactly, in integer
//! nanoseconds. The laws are conservation of tokens and, for stations, Little's law and the
//! utilisation law (Denning and Buzen 1978).

use std::collections::{BTreeMap, HashSet};

use super::law_sums::{Laws, Station};
use crate::clock::seconds;
use crate::compiled::CompiledNet;
use crate::engine::Engine;
use crate::error::{known, NetError, Result};
use crate::marking::bucket::NONE;
use crate::options::{RunOptions, StationDefinition};
use crate::report::StationReport;

/// The stations of a run: first the stations that the options name, then the stations found in the
/// structure of the net. Empty if the option `laws` is false.
pub(crate) fn stations(net: &CompiledNet, options: &RunOptions) -> Result<Vec<Station>> {
    if !options.laws {
        return Ok(Vec::new());
    }
    let requested = options.stations.iter().map(|one| declared(net, one));
    let mut found = requested.collect::<Result<Vec<Station>>>()?;
    let requested: HashSet<usize> = found.iter().map(|one| one.idle).collect();
    let others = shown_stations(net).into_iter();
    let others = others.filter(|place| !requested.contains(place));
    found.extend(others.map(|place| Station {
        idle: place,
        served: place,
    }));
    Ok(found)
}

fn declared(net: &CompiledNet, station: &StationDefinition) -> Result<Station> {
    let place = |name: &str| {
        net.place_index(name).ok_or_else(|| {
            let names = known(net.places.iter().map(|place| place.name.as_str()));
            let reason = format!("unknown place '{name}' ({names})");
            NetError::input(format!("station {}", station.idle), reason)
        })
    };
    Ok(Station {
        idle: place(&station.idle)?,
        served: place(&station.served)?,
    })
}

/// Finds the places whose tokens are servers. Such a place has two properties: every transition
/// that takes a token from it puts one back, and no other transition puts a token there. The delays
/// of the arcs that return tokens are service times.
fn shown_stations(net: &CompiledNet) -> Vec<usize> {
    let mut takers = vec![0; net.places.len()];
    let mut sound = vec![true; net.places.len()];
    for transition in &net.transitions {
        let mut arcs: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        for input in &transition.inputs {
            arcs.entry(input.place).or_default().0 += 1;
        }
        for output in &transition.outputs {
            // An arc with a computed count puts an unknown number of tokens, so its place must not
            // be taken for a place of servers. The arc therefore counts as putting two tokens. This
            // number never equals the one token that is taken from a place of servers.
            let put = if output.count.is_some() { 2 } else { 1 };
            arcs.entry(output.place).or_default().1 += put;
        }
        for (place, (taken, put)) in arcs {
            sound[place as usize] &= taken == put && taken <= 1;
            takers[place as usize] += taken;
        }
    }
    let shows = |&place: &usize| {
        let definition = &net.places[place];
        let servers = !definition.resets && !definition.initial.is_empty();
        sound[place] && takers[place] > 0 && servers
    };
    (0..net.places.len()).filter(shows).collect()
}

/// For each place, the transitions that take tokens from it; a transition occurs once for each of
/// its arcs.
fn takers(net: &CompiledNet) -> Vec<Vec<u32>> {
    let mut takers = vec![Vec::new(); net.places.len()];
    for (index, transition) in (0u32..).zip(&net.transitions) {
        for input in &transition.inputs {
            takers[input.place as usize].push(index);
        }
    }
    takers
}

impl Engine<'_> {
    /// Starts collecting the sums that the laws need for these stations. To be called at time zero.
    pub(crate) fn watch_stations(&mut self, stations: &[Station]) {
        if stations.is_empty() {
            return;
        }
        let (net, takers) = (self.net, takers(self.net));
        let mut station_of = vec![NONE; net.places.len()];
        for (at, &station) in stations.iter().enumerate() {
            station_of[station.served] = at as u32;
            // Little's law is asserted for the place of idle servers, and for every other input
            // place of the transitions that take a server.
            self.marking.watch_stays(station.idle);
            for &taker in &takers[station.idle] {
                let inputs = net.transitions[taker as usize].inputs.iter();
                inputs.for_each(|arc| self.marking.watch_stays(arc.place as usize));
            }
        }
        self.laws = Laws {
            stations: stations.to_vec(),
            station_of,
            service_ns: vec![0; stations.len()],
            services: vec![0; stations.len()],
            counted: std::mem::take(&mut self.laws.counted),
        };
    }

    /// Checks all laws at the end of a replication. Returns the measured values of each station. If
    /// the conservation of tokens or Little's law is violated, the engine is wrong, so the function
    /// panics. If a station violates the utilisation law, it returns an error.
    pub(crate) fn check_laws(&self) -> Result<Vec<StationReport>> {
        self.assert_flow();
        self.assert_little();
        let stations = self.laws.stations.iter().enumerate();
        stations
            .map(|(at, one)| self.utilisation(at, one))
            .collect()
    }

    /// Asserts Little's law L T = n W for each observed place. L is the mean number of tokens, T
    /// the duration of the run, n the number of stays, and W the mean duration of a stay. The left
    /// side is the time integral of the number of tokens; the right side is the sum of all stays.
    fn assert_little(&self) {
        for place in self.marking.little_places() {
            let (came, stays_ns) = self.marking.stays(place).expect("the place is watched");
            let tokens_ns = self.marking.area(place).whole_ns();
            let name = &self.net.places[place].name;
            assert!(
                tokens_ns == stays_ns,
                "place {name}: Little's law is broken: {tokens_ns} token ns, but {came} stays \
                 of {stays_ns} ns"
            );
        }
    }

    /// Checks the utilisation law U T = n S for a station. U T is the busy time of its servers. n
    /// is the number of services, and S is their mean service time. Returns the station's figures,
    /// or an error if the law is violated.
    fn utilisation(&self, at: usize, station: &Station) -> Result<StationReport> {
        let now_ns = self.marking.now_ns;
        let definition = &self.net.places[station.idle];
        let servers = definition.initial.len() as u128;
        let idle_ns = self.marking.area(station.idle).whole_ns();
        let busy_ns = (servers * u128::from(now_ns)).checked_sub(idle_ns);
        let served_ns = self.laws.service_ns[at].checked_sub(self.still_to_serve(station));
        let served = &self.net.places[station.served].name;
        if busy_ns.is_none() || busy_ns != served_ns {
            let words = |ns: Option<u128>| ns.map_or("less than 0".to_owned(), |ns| ns.to_string());
            let reason = format!(
                "the utilisation law is broken: servers were busy for {} ns, but services to \
                 place {served} lasted {} ns",
                words(busy_ns),
                words(served_ns)
            );
            return Err(NetError::run(
                format!("station {}", definition.name),
                reason,
            ));
        }
        let (lasted_s, count) = (seconds(now_ns), self.laws.services[at]);
        let over = |amount: f64, by: f64| (by > 0.0).then(|| amount / by);
        let busy_s = busy_ns.unwrap_or_default() as f64 / 1e9;
        Ok(StationReport {
            idle: definition.name.clone(),
            served: served.clone(),
            servers: definition.initial.len(),
            services: count,
            service_s_mean: over(self.laws.service_ns[at] as f64 / 1e9, count as f64),
            utilisation: over(busy_s, servers as f64 * lasted_s),
        })
    }

    /// Sums, over all tokens that are in service at the end of the run, the service time that
    /// remains. In ns.
    fn still_to_serve(&self, station: &Station) -> u128 {
        let mut left_ns = 0;
        for event in self.events.pending() {
            let mut token = event.first_token();
            while token != NONE {
                let one = self.marking.nodes.tokens[token as usize];
                if one.place as usize == station.served {
                    left_ns += u128::from(event.time_ns() - self.marking.now_ns);
                }
                token = one.next;
            }
        }
        left_ns
    }

    /// Asserts conservation of tokens. For each place, two numbers must be equal. The first is the
    /// number of tokens in the place and in transit to it. The second is the number of its initial
    /// tokens, plus the tokens made, minus the tokens taken. Places with reset arcs are excluded.
    fn assert_flow(&self) {
        let net = self.net;
        let start = net.places.iter().map(|place| place.initial.len() as i128);
        let mut balance: Vec<i128> = start.collect();
        for (transition, &fired) in net.transitions.iter().zip(&self.fired) {
            for input in &transition.inputs {
                balance[input.place as usize] -= i128::from(fired);
            }
            let outputs = transition.outputs.iter();
            for output in outputs.filter(|one| one.count.is_none()) {
                balance[output.place as usize] += i128::from(fired);
            }
        }
        for (&place, &made) in &self.laws.counted {
            balance[place as usize] += i128::from(made);
        }
        let totals = self.marking.totals();
        for (at, place) in net.places.iter().enumerate() {
            assert!(
                place.resets || balance[at] == totals[at] as i128,
                "place {}: {} tokens, by the law of flow {}",
                place.name,
                totals[at],
                balance[at]
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::definition::NetDefinition;

    /// Runs a queue with two servers and Poisson arrivals for 1,000 simulated seconds. Then calls
    /// `tamper`, which changes the engine's sums, and checks the laws.
    fn queue(tamper: impl Fn(&mut Engine<'_>)) -> Result<Vec<StationReport>> {
        let definition = json!({
            "name": "queue", "colours": {"unit": []},
            "places": [
                {"name": "source", "colour": "unit", "initial": [[]]},
                {"name": "waiting", "colour": "unit"},
                {"name": "servers", "colour": "unit", "initial": [[], []]}],
            "transitions": [
                {"name": "arrive", "in": [{"place": "source"}], "out": [
                    {"place": "source", "delay": "exponential(0.7)"}, {"place": "waiting"}]},
                {"name": "serve", "in": [{"place": "waiting"}, {"place": "servers"}],
                 "out": [{"place": "servers", "delay": "exponential(1)"}]}]
        });
        let definition = NetDefinition::from_json(&definition.to_string())?;
        let net = crate::compile(definition)?;
        let options = RunOptions::from_json(r#"{"laws": true}"#)?;
        let mut engine = Engine::new(&net, 3, 0)?;
        engine.watch_stations(&stations(&net, &options)?);
        while engine.marking.now_ns < 1_000_000_000_000 {
            engine.step()?;
        }
        tamper(&mut engine);
        engine.check_laws()
    }

    #[test]
    fn stations_show_themselves_and_keep_the_laws() {
        let found = queue(|_| {}).expect("the laws hold");
        let names: Vec<&str> = found.iter().map(|one| one.idle.as_str()).collect();
        assert_eq!(names, ["source", "servers"]);
        assert_eq!(found[0].utilisation, Some(1.0));
        let utilisation = found[1].utilisation.expect("a share");
        // The utilisation in theory is 1 / 1.4; the tolerance is five standard errors.
        assert!((utilisation - 1.0 / 1.4).abs() < 0.15, "{utilisation}");
    }

    #[test]
    fn an_additional_service_breaks_the_utilisation_law() {
        let broken = queue(|engine| engine.laws.service_ns[1] += 1);
        let error = broken.err().expect("broken");
        assert!(error.to_string().contains("utilisation law"), "{error}");
    }

    #[test]
    #[should_panic(expected = "Little's law is broken")]
    fn a_token_that_was_not_counted_breaks_littles_law() {
        let lose = |engine: &mut Engine<'_>| engine.marking.lose_a_stay(1);
        queue(lose).expect("the canary sings");
    }
}
