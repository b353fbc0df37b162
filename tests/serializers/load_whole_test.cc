#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/captured_stderr.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"

// A load is whole or has not happened, and says what it has left out.
using namespace kusari;
using serializers::Dictionary;
using serializers::LoadReport;
using testing::ScratchDirectory;

namespace {

class Body : public Chain {
 public:
  explicit Body(int64_t classes, int64_t in = 4)
      : l1{*this, "l1", in, 5}, bn{*this, "bn", 5}, head{*this, "head", 5, classes} {}
  Variable operator()(const Variable& x) { return head(bn(l1(x))); }

  Child<links::Linear> l1;
  Child<links::BatchNormalization> bn;
  Child<links::Linear> head;
};

std::string values_in(Link& link) {
  serializers::DictionarySerializer all;
  link.serialize(all);
  std::string text;
  for (const auto& [key, entry] : all.dictionary()) {
    text += key;
    if (entry.array.is_defined()) {
      for (const double value : entry.array.to_vector<double>()) text += " " + std::to_string(value);
    }
  }
  return text;
}

/// Saves, loads and names errors by the format.
struct Format {
  const char* call;
  void (*save)(const std::string&, Body&);
  LoadReport (*load)(const std::string&, Body&, serializers::LoadOptions);
  const char* separator;
};
const Format kFormats[] = {
    {"load_npz", [](const std::string& path, Body& body) { serializers::save_npz(path, body); },
     [](const std::string& path, Body& body, serializers::LoadOptions options) {
       return serializers::load_npz(path, body, std::move(options));
     },
     "/"},
    {"load_safetensors", [](const std::string& path, Body& body) { serializers::save_safetensors(path, body); },
     [](const std::string& path, Body& body, serializers::LoadOptions options) {
       return serializers::load_safetensors(path, body, std::move(options));
     },
     "."}};

}  // namespace

TEST_CASE("a load that fails leaves the object as it was") {
  const ScratchDirectory dir;
  for (const Format& format : kFormats) {
    CAPTURE(format.call);
    Body saved(3), other(7), lazy(7, kInfer);
    format.save(dir / "a", saved);
    const std::string before = values_in(other), lazy_before = values_in(lazy);
    const Array W = other.l1.W.array();
    for (const bool strict : {true, false}) {
      CHECK_THROWS_WITH_AS(format.load(dir / "a", other, {.strict = strict}),
                           (std::string(format.call) + ": " + (dir / "a") +
                            ": entry 'head/W' has shape (3, 5) but the object's array has shape (7, 5)")
                               .c_str(),
                           TypeError);
      CHECK(values_in(other) == before);
      CHECK(other.l1.W.array().is_same(W));  // in place
      CHECK_THROWS_AS(format.load(dir / "a", lazy, {.strict = strict}), TypeError);
      CHECK(values_in(lazy) == lazy_before);
      CHECK_FALSE(lazy.l1.W.is_initialized());
      CHECK(lazy.l1.W.declared_shape() == Shape{5, kInfer});
    }
    lazy(Variable(ones({2, 9})));  // nothing of the file's shape is left
    CHECK(lazy.l1.W.shape() == Shape{5, 9});
  }
}

TEST_CASE("skip_mismatched takes what fits, and tells the rest") {
  const ScratchDirectory dir;
  for (const Format& format : kFormats) {
    CAPTURE(format.call);
    Body saved(3), other(7);
    format.save(dir / "a", saved);
    const std::vector<float> head = other.head.W.to_vector<float>();
    LoadReport report;
    std::string said;
    {
      const testing::CapturedStderr log;
      report = format.load(dir / "a", other, {.skip_mismatched = true});
      said = log.text();
    }
    CHECK(other.l1.W.to_vector<float>() == saved.l1.W.to_vector<float>());
    CHECK(other.head.W.to_vector<float>() == head);
    REQUIRE(report.mismatched.size() == 2);
    CHECK(report.mismatched[0].key == "head/W");
    CHECK(report.mismatched[0].reason == "has shape (3, 5) but the object's array has shape (7, 5)");
    CHECK(report.mismatched[1].key == "head/b");
    CHECK(report.missing.empty());
    CHECK(report.unexpected.empty());
    CHECK(said.find("2 entries that do not fit are passed over") != std::string::npos);
    CHECK(said.find("'head/b' has shape (3,)") != std::string::npos);
    CHECK(said.find(dir / "a") != std::string::npos);

    // A dtype of a narrower kind, and a parameter that is only declared.
    Dictionary entries{{"l1/W", {full({5, 9}, 1, Dtype::int64)}},
                       {"head/W", {zeros({7, 5}, Dtype::bool_)}},
                       {"bn/N", {full({}, 0.5, Dtype::float64)}},
                       {"stranger", {zeros({1})}}};
    std::string(format.separator) == "/" ? serializers::save_npz_dictionary(dir / "b", entries)
                                         : serializers::save_safetensors_dictionary(dir / "b", entries);
    Body lazy(7, kInfer);
    const testing::QuietLog quiet;
    report = format.load(dir / "b", lazy, {.strict = false, .skip_mismatched = true});
    CHECK(lazy.l1.W.shape() == Shape{5, 9});
    CHECK(lazy.head.W.to_vector<float>() == std::vector<float>(35));
    REQUIRE(report.mismatched.size() == 1);
    CHECK(report.mismatched[0].key == "bn/N");
    std::sort(report.missing.begin(), report.missing.end());
    CHECK(report.missing ==
          std::vector<std::string>{"bn/avg_mean", "bn/avg_var", "bn/beta", "bn/gamma", "head/b", "l1/b"});
    CHECK(report.unexpected == std::vector<std::string>{"stranger"});

    entries = {{"l1/W", {zeros({6, 9})}}};
    std::string(format.separator) == "/" ? serializers::save_npz_dictionary(dir / "c", entries)
                                         : serializers::save_safetensors_dictionary(dir / "c", entries);
    Body declared(7, kInfer);
    CHECK_THROWS_WITH_AS(format.load(dir / "c", declared, {.strict = false}),
                         doctest::Contains("has shape (6, 9) but the parameter was declared with (5, -1)"), TypeError);
    report = format.load(dir / "c", declared, {.strict = false, .skip_mismatched = true});
    CHECK(report.mismatched.size() == 1);
    CHECK_FALSE(declared.l1.W.is_initialized());
  }
}

TEST_CASE("an object's own error undoes a load, too") {
  struct Picky {
    int64_t number = 1;
    Array numbers = array<float>({1, 2});
    std::string text = "mine";
    std::vector<int64_t> list = {4, 5};
    void serialize(Serializer& s) {
      s("number", number);
      s("numbers", numbers);
      s("text", text);
      s("list", list);
      if (!s.is_writer() && text != "mine") throw ValueError(s.place("text") + "is not mine");
    }
  };
  const ScratchDirectory dir;
  Picky saved{2, array<float>({3, 4}), "yours", {6}}, loaded;
  serializers::save_npz(dir / "a", saved);
  CHECK_THROWS_WITH_AS(serializers::load_npz(dir / "a", loaded), doctest::Contains("entry 'text' is not mine"),
                       ValueError);
  CHECK(loaded.number == 1);
  CHECK(loaded.numbers.to_vector<float>() == std::vector<float>{1, 2});
  CHECK(loaded.text == "mine");
  CHECK(loaded.list == std::vector<int64_t>{4, 5});
  serializers::save_npz_dictionary(dir / "b", {{"number", {full({}, 1, Dtype::int64)}},
                                               {"numbers", {zeros({2})}},
                                               {"text", {Array(), "mine", true}},
                                               {"list", {zeros({2}, Dtype::float32)}}});
  CHECK_THROWS_WITH_AS(serializers::load_npz(dir / "b", loaded), doctest::Contains("entry 'list' has shape (2,)"),
                       TypeError);
}
