//! Tests of the symbols of a text, language by language.

use super::super::queries::{self, LARGEST, SymbolDepth};
use super::super::tree_cache::TreeCache;
use super::*;
use crate::sys::cancel::Cancel;

fn symbols(language: &str, text: &str, depth: SymbolDepth) -> Option<Symbols> {
    let found = queries::symbols(language, text, None, depth, &TreeCache::default(), &Cancel::never());
    found.map(|symbols| symbols.as_ref().clone())
}

fn of(language: &str, text: &str) -> Symbols {
    symbols(language, text, SymbolDepth::All).unwrap()
}

/// `kind owner.name required..most` of every definition.
fn defined(symbols: &Symbols) -> Vec<String> {
    let one = |definition: &SymbolDefinition| {
        let owner = symbols.owner(definition).map(|owner| format!("{owner}.")).unwrap_or_default();
        let taken = definition.parameters.as_ref().map(|taken| match taken.most {
            Some(most) => format!(" {}..{most}", taken.required),
            None => format!(" {}..", taken.required),
        });
        format!("{:?} {owner}{}{}", definition.kind, definition.name, taken.unwrap_or_default())
    };
    symbols.definitions.iter().map(one).collect()
}

/// `how name count` of every use that is a call.
fn called(symbols: &Symbols) -> Vec<String> {
    let calls = symbols.uses.iter().filter_map(|found| Some((found, found.call.as_ref()?)));
    calls
        .map(|(found, call)| {
            let open = if call.open { "+" } else { "" };
            format!("{:?} {} {}{open}", found.how, found.name, call.count)
        })
        .collect()
}

#[test]
fn rust_is_understood() {
    let found = of(
        "rust",
        "use crate::a::{b, c::D};\npub trait T { fn need(&self, a: u8); fn has(&self) {} }\nstruct S { f: u8 }\nimpl T for S {\n    fn \
         need(&self, a: u8) { self.go(1); b::run(a, 2); helper(); S::new::<u8>(3); }\n}\nimpl S { pub fn new(a: u8) -> Self { make!(a) } \
         }\nenum E { One, Two(u8) }\n#[cfg(test)]\nmod tests { fn t() {} }\nmade!{}\n",
    );
    assert_eq!(
        defined(&found),
        [
            "Interface T",
            "Function T.need 1..1",
            "Function T.has 0..0",
            "Type S",
            "Field S.f",
            "Implementation S",
            "Function S.need 1..1",
            "Implementation S",
            "Function S.new 1..1",
            "Enum E",
            "Variant E.One",
            "Variant E.Two",
            "Function t 0..0",
        ]
    );
    assert_eq!(called(&found), ["Member(\"self\") go 1", "Path(\"b\") run 2", "Plain helper 0", "Path(\"S\") new 1"]);
    let paths: Vec<&str> = found.imports.iter().map(|import| import.path.as_str()).collect();
    assert_eq!(paths, ["crate::a::b", "crate::a::c::D"]);
    assert!(found.open, "a macro makes items");
    assert_eq!(found.definitions[5].bases, ["T"]);
    let tests = found.definitions.last().unwrap();
    assert!(tests.nested && tests.conditional);
}

#[test]
fn python_is_understood() {
    let found = of(
        "python",
        "import a.b as c\nfrom .d import e, f as g\nLIMIT = 3\ndef plain(x, y=1, *, z, w=2):\n    return e(x, z=1, *y)\nclass K(Base, m.N):\n    \
         kind = 1\n    def go(self, a, b=None):\n        self.go(1)\n        c.run(1, 2)\n    @staticmethod\n    def fixed(a): pass\n    \
         @property\n    def odd(self): pass\ntry:\n    import fast\nexcept ImportError:\n    fast = None\n",
    );
    assert_eq!(
        defined(&found),
        [
            "Constant LIMIT",
            "Function plain 2..4",
            "Interface K",
            "Field K.kind",
            "Function K.go 1..2",
            "Function K.fixed 1..1",
            "Function K.odd",
            "Constant fast",
        ]
    );
    assert_eq!(called(&found), ["Plain e 3+", "Member(\"self\") go 1", "Member(\"c\") run 2"]);
    assert_eq!(found.definitions[2].bases, ["Base", "N"]);
    let imports: Vec<_> = found.imports.iter().map(|one| (one.path.as_str(), one.name.as_deref())).collect();
    assert_eq!(imports, [("a.b", None), (".d", Some("e")), (".d", Some("f")), ("fast", None)]);
    assert!(found.imports[3].conditional && !found.imports[1].conditional);
}

#[test]
fn scripts_are_understood() {
    let found = of(
        "typescript",
        "import d, { a as b } from './m'\nimport * as n from './n'\nexport * from './o'\nexport const f = (x: number, y?: string, z = 1, \
         ...r: string[]) => b(x)\nexport function g(o: void, p: string) { return new K(1, ...p) }\ninterface I extends J { need(a: string): \
         void; may?(): void; f?: string }\nclass K implements I { need(a: string) { this.go(a); n.run() } }\nenum E { One, Two = 2 }\n\
         switch (e) { case E.One: break; case E.Two: break }\n",
    );
    assert_eq!(
        defined(&found),
        [
            "Function f 1..",
            "Function g 1..2",
            "Interface I",
            "Function I.need 1..1",
            "Function I.may 0..0",
            "Field I.f",
            "Type K",
            "Function K.need 1..1",
            "Enum E",
            "Variant E.One",
            "Variant E.Two",
        ]
    );
    assert_eq!(called(&found), ["Plain b 1", "New K 2+", "Member(\"this\") go 1", "Member(\"n\") run 0"]);
    assert!(found.open);
    let script = of("javascript", "function f(a, b) {}\nmodule.exports = { f }\n");
    assert_eq!(defined(&script), ["Function f"]);
    assert!(script.open);
}

#[test]
fn go_is_understood() {
    let found = of(
        "go",
        "package p\n\nimport (\n\tq \"m/q\"\n\t\"m/r\"\n)\n\ntype K int\n\nconst (\n\tA K = iota\n\tB\n)\n\ntype I interface {\n\tDo(a, b \
         int) error\n}\n\ntype S struct {\n\tF int\n}\n\nfunc (s *S) Do(a, b int, more ...int) error {\n\tr.Go(a)\n\tDo(pair())\n\tswitch \
         k {\n\tcase A, B:\n\t}\n\treturn q.T(more...)\n}\n",
    );
    assert_eq!(
        defined(&found),
        [
            "Type K",
            "Enum K",
            "Variant K.A",
            "Variant K.B",
            "Interface I",
            "Function I.Do 2..2",
            "Type S",
            "Field S.F",
            "Function Do 2..",
        ]
    );
    assert_eq!(found.package.as_deref(), Some("p"));
    assert_eq!(called(&found), ["Member(\"r\") Go 1", "Plain Do 1+", "Plain pair 0", "Member(\"q\") T 1+"]);
}

#[test]
fn java_is_understood() {
    let found = of(
        "java",
        "package a.b;\nimport c.D;\nimport e.*;\npublic class K extends L implements I<String>, J {\n  static final int N = 1;\n  public \
         K(int a) { super(a); }\n  static void go(int a, String... b) { D.run(a); go(1); new K(2); }\n  int of(E e) { return switch (e) { \
         case ONE -> 1; case TWO -> 2; default -> 3; }; }\n}\nenum E { ONE, TWO }\ninterface I<T> { void need(T t); default void has() {} \
         }\n",
    );
    assert_eq!(
        defined(&found),
        [
            "Type K",
            "Field K.N",
            "Function K.K 1..1",
            "Function K.go 1..",
            "Function K.of 1..1",
            "Enum E",
            "Variant E.ONE",
            "Variant E.TWO",
            "Interface I",
            "Function I.need 1..1",
            "Function I.has 0..0",
        ]
    );
    assert_eq!(found.definitions[0].bases, ["I", "J"]);
    assert!(found.definitions[0].open);
    assert_eq!(called(&found), ["Member(\"D\") run 1", "Plain go 1", "New K 1"]);
}

#[test]
fn c_is_understood() {
    let found = of(
        "c",
        "#ifndef A_H\n#define A_H\n#define TWICE(x) helper(x)\nenum kind { ONE, TWO };\nint *make(int a, char *b);\nvoid none(void);\nint \
         old();\nint log_it(const char *f, ...);\n#ifdef WIN\nint win(int a) { return 0; }\n#endif\nstatic int run(enum kind k) {\n  switch \
         (k) {\n  case ONE:\n  case TWO:\n    return make(1, 0) != 0;\n  }\n  return 0;\n}\n#endif\n",
    );
    assert_eq!(
        defined(&found),
        [
            "Macro A_H",
            "Macro TWICE",
            "Enum kind",
            "Variant kind.ONE",
            "Variant kind.TWO",
            "Function make 2..2",
            "Function none 0..0",
            "Function old",
            "Function log_it 1..",
            "Function win 1..1",
            "Function run 1..1",
        ]
    );
    assert!(found.definitions[9].conditional && !found.definitions[10].conditional);
    assert!(found.others.contains("helper"));
}

#[test]
fn what_is_no_code_has_no_symbols() {
    assert_eq!(symbols("yaml", "a: b\n", SymbolDepth::All), None);
    assert_eq!(symbols("rust", &" ".repeat(LARGEST + 1), SymbolDepth::All), None);
    for language in ["rust", "python", "javascript", "typescript", "tsx", "go", "java", "c", "cpp"] {
        for text in ["", "((((", "fn fn fn", "class { def (", &"(".repeat(5000), "\u{0}\u{feff}é"] {
            assert!(symbols(language, text, SymbolDepth::All).is_some(), "{language}");
        }
    }
}

#[test]
fn an_outline_has_what_is_offered_to_others() {
    for (language, text) in [
        ("rust", "pub fn a(b: u8) { fn c() {} d(b); }\nimpl E { pub fn f(&self) { g() } }\npub enum H { I }\n"),
        ("python", "def a(b):\n    def c(): pass\n    d(b)\nclass E:\n    def f(self, x=1): g()\n"),
        (
            "typescript",
            "export function a(b) { function c() {} d(b) }\nexport class E { f(x) { g() } }\nexport { a as h };\n",
        ),
        ("go", "package p\nfunc A(b int) { d(b) }\ntype E struct { f int }\nfunc (e *E) F() { g() }\n"),
        ("java", "package p; public class E { int f; public void a(int b) { d(b); } interface H { void i(); } }"),
        ("cpp", "namespace n { int a(int b) { return d(b); } struct E { void f(int x); }; }\n"),
    ] {
        let whole = of(language, text);
        let found = symbols(language, text, SymbolDepth::Outline).unwrap();
        let offered = |symbols: &Symbols| -> Vec<(String, bool, (u32, u32))> {
            let offered = symbols.definitions.iter().filter(|one| !one.nested);
            offered
                .map(|one| (format!("{:?} {} {:?}", one.kind, one.name, one.parameters), one.public, one.lines))
                .collect()
        };
        assert!(!offered(&found).is_empty() && offered(&found) == offered(&whole), "{language}");
        assert_eq!((found.imports, found.package), (whole.imports, whole.package), "{language}");
        assert!(found.uses.len() < whole.uses.len(), "{language}");
    }
}
