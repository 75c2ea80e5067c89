//! `review://status`: the state of the server.

use serde_json::json;

use super::{LOCAL, ListedResource, ResourceFamily, ResourceText};

const URI: &str = "review://status";

pub(super) const FAMILY: ResourceFamily = ResourceFamily {
    list: |_| {
        Ok(vec![ListedResource {
            uri: URI.to_owned(),
            name: "status".to_owned(),
            description: "How this server is doing: version, folders, calls, failures, times".to_owned(),
            mime: "application/json",
            changed: None,
        }])
    },
    read: |service, uri| {
        (uri == URI).then(|| {
            let mut status = service.metrics().summary();
            status["version"] = json!(env!("CARGO_PKG_VERSION"));
            status["repository"] = json!(service.roots().start().display().to_string());
            Ok(ResourceText { mime: "application/json", text: format!("{status:#}") })
        })
    },
    ..LOCAL
};
