//! Enums whose values have one word each. Main macro: `words`.

/// Declares such an enum: `words!(pub enum Name: word { Value = "value" })` has `ALL`, `word` and `from_word`, is displayed and stored as its words.
macro_rules! words {
    ($(#[$doc:meta])* $vis:vis enum $name:ident: $word:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $(#[$doc])*
        $vis enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        #[allow(dead_code, reason = "not every enum is listed and read back")]
        impl $name {
            /// Every value, in order.
            $vis const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word used in JSON, on the command line and on every surface.
            $vis const fn $word(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// Reads the word back, in any case.
            $vis fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.$word().eq_ignore_ascii_case(word))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.$word())
            }
        }
    };
}

pub(crate) use words;
