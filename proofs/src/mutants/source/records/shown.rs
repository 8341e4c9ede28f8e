//! What logs, errors and whatever else can be printed show.

use super::SourceMutant;
use crate::mutants::source::Suite;

const fn privacy(
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
) -> SourceMutant {
    SourceMutant {
        name,
        file,
        from,
        to,
        suite: Suite::Privacy,
        killers: &["nothing_that_is_shown_holds_a_secret_a_host_or_server_text"],
    }
}

/// Things that show what they must not.
pub(super) const MUTANTS: [SourceMutant; 10] = [
    SourceMutant {
        suite: Suite::Poller,
        killers: &["a_transport_is_given_secrets_that_are_marked_as_such"],
        ..privacy(
            "token-is-not-marked-as-sensitive",
            "client/src/control_plane/headers.rs",
            "value.set_sensitive(true);",
            "value.set_sensitive(false);",
        )
    },
    SourceMutant {
        suite: Suite::Poller,
        killers: &["a_transport_is_given_secrets_that_are_marked_as_such"],
        ..privacy(
            "key-is-not-marked-as-sensitive",
            "client/src/secret.rs",
            "authorization.set_sensitive(true);",
            "authorization.set_sensitive(false);",
        )
    },
    SourceMutant {
        suite: Suite::Unit,
        killers: &["secret::tests::secrets_print_nothing"],
        ..privacy(
            "tunnel-prints-itself",
            "client/src/secret.rs",
            "f.write_str(\"TunnelId(..)\")",
            "f.write_str(&self.0)",
        )
    },
    SourceMutant {
        suite: Suite::Unit,
        killers: &["endpoint::tests::prints_nothing_of_itself"],
        ..privacy(
            "endpoint-prints-itself",
            "client/src/endpoint.rs",
            "f.write_str(\"Endpoint(..)\")",
            "f.write_str(self.base.as_str())",
        )
    },
    privacy(
        "settings-print-the-values-of-headers",
        "client/src/settings.rs",
        ".map(|(name, _)| name.as_str())",
        ".map(|(_, value)| value.to_str().unwrap_or_default())",
    ),
    privacy(
        "settings-print-the-proxy",
        "client/src/settings.rs",
        "Self::Explicit(_) => \"Explicit(..)\",",
        "Self::Explicit(url) => url.as_str(),",
    ),
    privacy(
        "program-shows-every-log-target",
        "client/src/cli/logging.rs",
        "Targets::new().with_target(\"moorline\", level)",
        "Targets::new().with_default(level)",
    ),
    privacy(
        "error-names-its-cause-as-source",
        "client/src/control_plane/error.rs",
        "impl Error for PollError {}",
        "impl Error for PollError {\n    fn source(&self) -> Option<&(dyn Error + 'static)> {\n        self.cause.as_ref().map(|cause| &*cause.0 as &(dyn Error + 'static))\n    }\n}",
    ),
    privacy(
        "error-prints-its-cause",
        "client/src/control_plane/error.rs",
        "f.write_str(\"TransportCause(..)\")",
        "fmt::Debug::fmt(&self.0, f)",
    ),
    privacy(
        "error-tells-its-cause",
        "client/src/control_plane/error.rs",
        "        self.fault.fmt(f)\n",
        "        let cause = self.cause.as_ref().map(|cause| cause.0.to_string());\n        write!(f, \"{} {}\", self.fault, cause.unwrap_or_default())\n",
    ),
];
