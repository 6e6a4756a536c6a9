//! Makes the nets, as JSON, whose firings the bench measures.

use serde_json::{json, Value as Json};

/// A queue with one server and Poisson arrivals at utilisation `load`. Each customer takes two
/// firings.
pub fn mm1(load: f64) -> Json {
    json!({
        "name": "mm1",
        "colours": {"unit": []},
        "constants": {"load": load},
        "places": [
            {"name": "source", "colour": "unit", "initial": [[]]},
            {"name": "queue", "colour": "unit"},
            {"name": "idle", "colour": "unit", "initial": [[]]}
        ],
        "transitions": [
            {"name": "arrive", "in": [{"place": "source"}], "out": [
                {"place": "source", "delay": "exponential(1 / load)"},
                {"place": "queue"}]},
            {"name": "serve", "in": [{"place": "queue"}, {"place": "idle"}], "out": [
                {"place": "idle", "delay": "exponential(1)"}]}
        ]
    })
}

fn station(name: &str, queue: &str, idle: &str, to: &str, delay: &str) -> Json {
    json!({
        "name": name,
        "guard": "c.server == s.server",
        "in": [{"place": queue, "var": "c"}, {"place": idle, "var": "s"}],
        "out": [{"place": to, "token": "c"}, {"place": idle, "token": "s"}],
        "delay": delay
    })
}

/// The PVFS net (clients that read from servers) with 8 clients and 4 servers. Each client makes
/// `requests` requests. Service times are exponential or constant.
pub fn pvfs(requests: u32, exponential: bool) -> Json {
    pvfs_of(8, 4, requests, exponential)
}

/// The PVFS net: clients read from servers in requests of 16 chunks, and each server has a network
/// and a disk. Each client makes `requests` requests. Service times are exponential or constant.
pub fn pvfs_of(clients: u32, servers: u32, requests: u32, exponential: bool) -> Json {
    let delay = |mean: &str| match exponential {
        true => format!("exponential({mean})"),
        false => mean.to_owned(),
    };
    let clients: Vec<Json> = (0..clients)
        .map(|client| json!([client, requests]))
        .collect();
    let idle: Vec<Json> = (0..servers).map(|server| json!([server])).collect();
    let mut issued: Vec<Json> = (0..16)
        .map(|chunk| {
            // With four servers every request uses all of them equally, so the server of each chunk
            // is a constant.
            let server = match servers {
                4 => json!(chunk % 4),
                _ => json!(format!("(r.client * 16 + {chunk}) % {servers}")),
            };
            json!({"place": "net_queue", "token": ["r.client", server]})
        })
        .collect();
    issued.push(json!({"place": "waiting", "token": ["r.client", "r.left - 1", 16]}));
    json!({
        "name": "pvfs",
        "colours": {
            "client": [["client", "int"], ["left", "int"]],
            "chunk": [["client", "int"], ["server", "int"]],
            "server": [["server", "int"]],
            "wait": [["client", "int"], ["left", "int"], ["chunks", "int"]]
        },
        "places": [
            {"name": "ready", "colour": "client", "initial": clients},
            {"name": "waiting", "colour": "wait"},
            {"name": "net_queue", "colour": "chunk"},
            {"name": "net_idle", "colour": "server", "initial": idle},
            {"name": "disk_queue", "colour": "chunk"},
            {"name": "disk_idle", "colour": "server", "initial": idle},
            {"name": "done", "colour": "chunk"}
        ],
        "transitions": [
            {"name": "issue", "guard": "r.left > 0", "in": [{"place": "ready", "var": "r"}],
             "out": issued},
            station("net", "net_queue", "net_idle", "disk_queue", &delay("0.000635")),
            station("disk", "disk_queue", "disk_idle", "done", &delay("0.00115")),
            {"name": "collect", "guard": "d.client == w.client && w.chunks > 1",
             "in": [{"place": "done", "var": "d"}, {"place": "waiting", "var": "w"}],
             "out": [{"place": "waiting", "token": ["w.client", "w.left", "w.chunks - 1"]}]},
            {"name": "finish", "guard": "d.client == w.client && w.chunks == 1",
             "in": [{"place": "done", "var": "d"}, {"place": "waiting", "var": "w"}],
             "out": [{"place": "ready", "token": ["w.client", "w.left"]}]}
        ]
    })
}

/// A net that joins pairs of tokens by equal ids, while `waiting` tokens without a partner wait in
/// the same place.
pub fn keyed_join(waiting: usize) -> Json {
    let lonely: Vec<Json> = (0..waiting).map(|id| json!([1_000_000 + id])).collect();
    let pairs: Vec<Json> = (0..8).map(|id| json!([id])).collect();
    json!({
        "name": "join",
        "colours": {"job": [["id", "int"]]},
        "places": [
            {"name": "left", "colour": "job", "initial": lonely},
            {"name": "right", "colour": "job"},
            {"name": "source", "colour": "job", "initial": pairs}
        ],
        "transitions": [
            {"name": "fork", "in": [{"place": "source", "var": "s"}], "out": [
                {"place": "left", "token": "s", "delay": "exponential(0.001)"},
                {"place": "right", "token": "s", "delay": "exponential(0.001)"}]},
            {"name": "join", "guard": "a.id == b.id",
             "in": [{"place": "left", "var": "a"}, {"place": "right", "var": "b"}],
             "out": [{"place": "source", "token": "a"}]}
        ]
    })
}

/// A closed ring of `stations` stations, each with one token and one server.
pub fn ring(stations: u32) -> Json {
    let place = |name: String| json!({"name": name, "colour": "unit", "initial": [[]]});
    let places: Vec<Json> = (0..stations)
        .flat_map(|at| [place(format!("queue{at}")), place(format!("idle{at}"))])
        .collect();
    let transitions: Vec<Json> = (0..stations)
        .map(|at| {
            let (queue, idle) = (format!("queue{at}"), format!("idle{at}"));
            json!({
                "name": format!("serve{at}"),
                "in": [{"place": queue}, {"place": idle}],
                "out": [{"place": format!("queue{}", (at + 1) % stations)}, {"place": idle}],
                "delay": "exponential(1)"
            })
        })
        .collect();
    json!({
        "name": "ring", "colours": {"unit": []}, "places": places, "transitions": transitions
    })
}
