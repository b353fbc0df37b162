#!/usr/bin/env python3
"""A new declaration is called without an edit elsewhere, and one that cannot be read is named."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import generate_calls  # noqa: E402


def calls_of(header, left_out=()):
    """What is written for a tree with one header; the message where that is refused."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder)
        path = source / "framework/functions/new.h"
        path.parent.mkdir(parents=True)
        path.write_text(header)
        (source / "framework/links").mkdir()
        (source / "framework/initializers").mkdir()
        (source / "framework/kusari.h").write_text('#include "kusari/framework/functions/new.h"\n')
        try:
            entries = generate_calls.generate(source, source / "out", 1, dict.fromkeys(left_out, "a reason"))
        except SystemExit as refusal:
            return str(refusal)
        fields = (source / "out/fields.h").read_text()
        return [entry[0] for entry in entries], (source / "out/calls_1.cc").read_text(), fields


class GenerateCalls(unittest.TestCase):
    def test_functions(self):
        names, code, fields = calls_of(
            """
            namespace kusari::functions {
            enum class Way : uint8_t { left, right };
            struct NewOptions {
              PerAxis stride = 1;  ///< a comment; with punctuation, too
              Way way = Way::left;
            };
            /// Text.
            KUSARI_API Variable brand_new(const Variable& x, double a = 1.0, const NewOptions& options = {});
            inline Variable brand_new(std::initializer_list<Variable> xs) { return brand_new({xs.begin(), xs.size()}); }
            KUSARI_API Variable rows(std::initializer_list<std::initializer_list<double>> xs);
            Variable internal(const Variable& x);
            namespace detail { KUSARI_API Variable hidden(const Variable& x); }
            }  // namespace kusari::functions
            """
        )
        self.assertEqual(
            names,
            [
                "F::brand_new(const Variable& x, double a, const NewOptions& options)",
                "F::brand_new(std::initializer_list<Variable> xs)",
                "F::rows(std::initializer_list<std::initializer_list<double>> xs)",
            ],
        )
        self.assertIn('auto a0 = draw.make<std::array<std::array<double, 2>, 2>>("xs");', code)
        self.assertIn("{std::initializer_list<double>{a0[0][0], a0[0][1]}, std::initializer_list<double>{", code)
        self.assertIn('auto a1 = draw.make<double>("a");', code)
        self.assertIn('draw.make<NewOptions>("options")', code)
        self.assertIn("kusari::functions::brand_new(a0, a1, a2)", code)
        self.assertIn('visit("stride", value.stride); visit("way", value.way);', fields)
        self.assertIn("kusari::functions::Way::left, kusari::functions::Way::right", fields)

    def test_operators_of_a_macro(self):
        names, code, _ = calls_of(
            """
            namespace kusari {
            #define MADE(op) \\
              KUSARI_API Variable operator op(const Variable& a, Scalar b);
            MADE(+)
            MADE(/)
            }  // namespace kusari
            """
        )
        self.assertEqual(names, ["operator +(const Variable& a, Scalar b)", "operator /(const Variable& a, Scalar b)"])
        self.assertIn("return a0 / a1;", code)

    def test_links(self):
        names, code, _ = calls_of(
            """
            namespace kusari::links {
            class KUSARI_API New : public Link {
             public:
              using Options = NewOptions;
              explicit New(int64_t size, Options options = {}) : W{*this, "W", {size}}, size_{size} {}
              New(const New& other);
              Variable operator()(const Variable& x) { return x; }
              Parameter W;  ///< (size)
             private:
              Variable helper(const Variable& x);
              int64_t size_;
            };
            }  // namespace kusari::links
            """
        )
        self.assertEqual(names, ["L::New(int64_t size, Options options)"])
        self.assertIn("draw.make<New::Options>", code)
        self.assertIn("object->operator()(b0)", code)
        self.assertNotIn("helper", code)

    def test_aggregates(self):
        names, code, fields = calls_of(
            """
            namespace kusari::functions {
            struct KUSARI_API Scaled {
              double factor = 2;
              Array operator()(const Array& x) const;
            };
            struct Plain { double factor = 2; };
            }  // namespace kusari::functions
            """
        )
        self.assertEqual(names, ["F::Scaled"])
        self.assertIn('std::make_unique<Scaled>(draw.make<Scaled>("self"))', code)
        self.assertIn("object->operator()(b0)", code)
        self.assertIn("FieldsOf<kusari::functions::Plain>", fields)

    def test_constructors_that_are_left_out(self):
        two = "namespace kusari::links { class Two { public: Two(int64_t n); Two(double x); }; }"
        self.assertEqual(calls_of(two, ["L::Two(double x)"])[0], ["L::Two(int64_t n)"])

    def test_refusals(self):
        strange = "namespace kusari::functions { KUSARI_API Variable strange(void (*callback)(int)); }"
        self.assertIn("F::strange: a parameter", calls_of(strange))
        self.assertEqual(calls_of(strange, ["F::strange"])[0], [])
        self.assertIn("F::gone is left out, but there is no such declaration", calls_of("", ["F::gone"]))
        template = "namespace kusari::links { template <class T> class Any { public: Any(T model); }; }"
        self.assertIn("L::Any: a class template", calls_of(template))


if __name__ == "__main__":
    unittest.main()
