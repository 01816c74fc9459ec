//! A run as a picture: one page that needs nothing else.

use std::fmt::Write as _;

use tenure_core::{Event, Token};

use crate::{
    clock::{Micros, SECONDS},
    machine::{Said, Told},
    resource::Verdict,
    settings::Settings,
    trace::What,
    world::World,
};

/// Pixels for each second of true time, and the left margin with the lanes' names.
const SCALE: f64 = 24.0;
const LEFT: f64 = 132.0;
const LANE: f64 = 34.0;
const TOP: f64 = 44.0;

/// Draws everything that the world's trace has.
pub(crate) fn page(seed: u64, settings: Settings, world: &World, failure: Option<&str>) -> String {
    let drawing = Drawing::of(world);
    let command = format!("cargo xtask sim --seed {seed}{settings}");
    let verdict = failure.unwrap_or("every invariant held");
    let class = if failure.is_some() { "broken" } else { "held" };
    PAGE.replace("{{seed}}", &seed.to_string())
        .replace("{{kind}}", &format!("{:?}", world.scenario.kind))
        .replace("{{clients}}", &world.clients.len().to_string())
        .replace("{{seconds}}", &format!("{:.1}", world.now as f64 / 1e6))
        .replace("{{command}}", &escape(&command))
        .replace("{{class}}", class)
        .replace("{{verdict}}", &escape(verdict))
        .replace("{{svg}}", &drawing.svg(failure))
}

/// A stretch of time in a lane.
struct Span {
    lane: usize,
    from: Micros,
    to: Micros,
    class: &'static str,
    label: String,
}

/// A moment in a lane.
struct Mark {
    lane: usize,
    at: Micros,
    class: &'static str,
    label: String,
}

struct Drawing {
    lanes: Vec<String>,
    spans: Vec<Span>,
    marks: Vec<Mark>,
    end: Micros,
    calm: Micros,
}

/// What a lane shows at the moment.
#[derive(Clone, Default)]
struct Open {
    since: Micros,
    class: Option<&'static str>,
    label: String,
}

impl Drawing {
    fn of(world: &World) -> Self {
        let (clients, sites) = (world.clients.len(), world.sites.len());
        let mut lanes: Vec<_> = (0..clients).map(|client| format!("client {client}")).collect();
        lanes.extend((0..sites).map(|site| match sites {
            1 => "store's owner".to_owned(),
            _ => format!("node {site}'s owner"),
        }));
        lanes.push("resource".into());
        let mut drawing = Self {
            lanes,
            spans: Vec::new(),
            marks: Vec::new(),
            end: world.now,
            calm: world.scenario.calm_from.min(world.now),
        };
        let mut open = vec![Open::default(); clients + sites];
        for entry in world.trace.entries() {
            drawing.note(&mut open, clients, entry.at, entry.what);
        }
        let end = drawing.end;
        for (lane, state) in open.iter_mut().enumerate() {
            drawing.turn(state, lane, end, None, String::new());
        }
        drawing
    }

    fn note(&mut self, open: &mut [Open], clients: usize, at: Micros, what: What) {
        let resource = open.len();
        match what {
            What::In(client, _, Told::Acquire { .. }) if open[client].class.is_none() => {
                self.turn(&mut open[client], client, at, Some("waiting"), "waits".into());
            }
            What::Out(client, Said::Event { event, .. }) => self.event(open, client, at, event),
            What::Granted(client, token) => {
                let label = owner(client, Some(token));
                self.turn(&mut open[clients], clients, at, Some("owned"), label);
            }
            What::Taken(client, site) => {
                let lane = clients + site;
                self.turn(&mut open[lane], lane, at, Some("owned"), owner(client, None));
            }
            What::Freed(site) | What::Lapsed(site) => {
                let lane = clients + site;
                if let What::Lapsed(_) = what {
                    self.mark(lane, at, "lapse", "the term ran out".into());
                }
                self.turn(&mut open[lane], lane, at, None, String::new());
            }
            What::Write { client, token, verdict } => {
                let (class, how) = match verdict {
                    Verdict::Applied => ("applied", "applied"),
                    Verdict::Stale => ("refused", "refused: a newer token is installed"),
                    Verdict::OutOfOrder => ("refused", "refused: out of order"),
                };
                let label = format!("client {client} writes under token {token}: {how}");
                self.mark(resource, at, class, label);
            }
            What::Install { client, token, accepted } => {
                let class = if accepted { "install" } else { "refused" };
                let how = if accepted { "installed" } else { "refused" };
                self.mark(resource, at, class, format!("token {token} of client {client}: {how}"));
            }
            What::Fault(name, which, span) => self.fault(clients, at, name, which, span),
            What::In(..) | What::Out(..) | What::Executed(..) | What::Answered(..) => {}
        }
    }

    fn event(&mut self, open: &mut [Open], client: usize, at: Micros, event: Event) {
        let (class, label) = match event {
            Event::Acquired { token, .. } => (Some("held"), format!("token {token}, held")),
            Event::AtRisk => (Some("risk"), "at risk, a renewal failed".into()),
            Event::Recovered { .. } => (Some("held"), "holds".into()),
            Event::Stopping { .. } => (Some("stopping"), "must stop".into()),
            Event::Lost { reason } => {
                self.mark(client, at, "lost", format!("lost: {reason:?}"));
                (Some("ending"), "lost, cleans up".into())
            }
            Event::Released { confirmed } => {
                (Some("ending"), format!("released, confirmed: {confirmed}"))
            }
            Event::Denied { reason: tenure_core::DenyReason::InUse } => return,
            Event::Denied { reason } => (Some("ending"), format!("denied: {reason:?}")),
            Event::Closed => (None, String::new()),
            _ => return,
        };
        self.turn(&mut open[client], client, at, class, label);
    }

    fn fault(
        &mut self,
        clients: usize,
        at: Micros,
        name: &'static str,
        which: Option<usize>,
        span: Micros,
    ) {
        let Some(which) = which else { return };
        let of_client = name.ends_with("client");
        let lane = if of_client { which } else { clients + which };
        let label = format!("{name} {which}");
        let lasts = span > 0 && !name.contains("clock");
        if lasts {
            let to = (at + span).min(self.end);
            self.spans.push(Span { lane, from: at, to, class: "fault", label });
        } else {
            self.mark(lane, at, "jolt", label);
        }
    }

    fn turn(
        &mut self,
        state: &mut Open,
        lane: usize,
        at: Micros,
        class: Option<&'static str>,
        label: String,
    ) {
        if let Some(class) = state.class.take() {
            let (from, label) = (state.since, std::mem::take(&mut state.label));
            self.spans.push(Span { lane, from, to: at, class, label });
        }
        *state = Open { since: at, class, label };
    }

    fn mark(&mut self, lane: usize, at: Micros, class: &'static str, label: String) {
        self.marks.push(Mark { lane, at, class, label });
    }

    fn svg(&self, failure: Option<&str>) -> String {
        let width = LEFT + x(self.end) + 40.0;
        let height = TOP + self.lanes.len() as f64 * LANE + 12.0;
        let mut svg = format!(
            "<svg width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"time line\">"
        );
        self.background(&mut svg, height);
        // Faults lie behind everything else, over the whole height of their lane.
        for fault in [true, false] {
            for span in self.spans.iter().filter(|span| (span.class == "fault") == fault) {
                bar(&mut svg, span);
            }
        }
        for mark in &self.marks {
            dot(&mut svg, mark);
        }
        if let Some(failure) = failure {
            let at = LEFT + x(self.end);
            let _ = write!(
                svg,
                "<line class=\"failure\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"22\" y2=\"{height:.0}\">\
                 <title>{}</title></line>",
                escape(failure)
            );
        }
        svg.push_str("</svg>");
        svg
    }

    fn background(&self, svg: &mut String, height: f64) {
        let calm = LEFT + x(self.calm);
        let _ = write!(
            svg,
            "<rect class=\"calm\" x=\"{calm:.1}\" y=\"22\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <text class=\"note\" x=\"{:.1}\" y=\"36\">nothing goes wrong any more</text>",
            x(self.end - self.calm) + 20.0,
            height - 22.0,
            calm + 6.0,
        );
        for second in (0..=self.end / SECONDS).step_by(5) {
            let at = LEFT + x(second * SECONDS);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"22\" y2=\"{height:.0}\"/>\
                 <text class=\"tick\" x=\"{at:.1}\" y=\"15\">{second} s</text>"
            );
        }
        for (lane, name) in self.lanes.iter().enumerate() {
            let y = y(lane);
            let _ = write!(
                svg,
                "<line class=\"lane\" x1=\"0\" x2=\"{:.0}\" y1=\"{:.1}\" y2=\"{:.1}\"/>\
                 <text class=\"name\" x=\"8\" y=\"{:.1}\">{name}</text>",
                LEFT + x(self.end) + 20.0,
                y + LANE,
                y + LANE,
                y + LANE / 2.0 + 4.0,
            );
        }
    }
}

fn bar(svg: &mut String, span: &Span) {
    let (from, width) = (LEFT + x(span.from), x(span.to - span.from).max(1.5));
    let (top, height) = if span.class == "fault" { (1.0, LANE - 2.0) } else { (7.0, LANE - 14.0) };
    let y = y(span.lane);
    let label = escape(&span.label);
    let _ = write!(
        svg,
        "<g><title>{label}, {:.3} s to {:.3} s</title><rect class=\"{}\" x=\"{from:.1}\" y=\"{:.1}\" \
         width=\"{width:.1}\" height=\"{height:.0}\" rx=\"2\"/>",
        span.from as f64 / 1e6,
        span.to as f64 / 1e6,
        span.class,
        y + top,
    );
    // Text only where it fits.
    let room = (width / 6.6) as usize;
    if span.class != "fault" && room >= 3 {
        // The whole, or the first part of it that says something.
        let parts = [span.label.as_str(), span.label.split([',', ':']).next().unwrap_or_default()];
        if let Some(fits) = parts.into_iter().find(|part| part.len() <= room) {
            let _ = write!(
                svg,
                "<text class=\"{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                span.class,
                from + 4.0,
                y + LANE / 2.0 + 4.0,
                escape(fits)
            );
        }
    }
    svg.push_str("</g>");
}

fn dot(svg: &mut String, mark: &Mark) {
    let (at, y) = (LEFT + x(mark.at), y(mark.lane));
    let (from, to) = match mark.class {
        "applied" | "install" => (y + 8.0, y + LANE / 2.0),
        "refused" => (y + LANE / 2.0, y + LANE - 8.0),
        _ => (y + 2.0, y + LANE - 2.0),
    };
    let _ = write!(
        svg,
        "<line class=\"mark {}\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{from:.1}\" y2=\"{to:.1}\">\
         <title>{}, {:.6} s</title></line>",
        mark.class,
        escape(&mark.label),
        mark.at as f64 / 1e6,
    );
}

fn owner(client: Option<usize>, token: Option<Token>) -> String {
    let client = client.map_or_else(|| "nobody known".into(), |client| format!("client {client}"));
    match token {
        Some(token) => format!("{client}, token {token}"),
        None => client,
    }
}

fn x(at: Micros) -> f64 {
    at as f64 / 1e6 * SCALE
}

fn y(lane: usize) -> f64 {
    TOP + lane as f64 * LANE
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const PAGE: &str = include_str!("page.html");
