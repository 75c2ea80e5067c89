//! What a review puts on a pull request: the draft of its comments, the plan against what stands there, and the carrying out.
//!
//! Everything but the last step is pure and offline: places are checked against the hunks before anything is sent. What a forge says over the
//! wire belongs in `forge`; who asks for it, in `app`.
