#include "kusari/framework/serializers/npz.h"

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/tests/golden_data.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/serializers/one_value.h"

using namespace kusari;
using namespace kusari::serializers;
using kusari::testing::golden_path;
using kusari::testing::OneValue;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;

namespace {

struct Inner {
  Array W = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  Array b;
  void serialize(Serializer& s) {
    s("W", W);
    s("b", b);
  }
};

struct Outer {
  Inner l1;
  int64_t t = 7;
  int epoch = 3;
  double rate = 0.1;
  float momentum = 0.5f;
  bool is_new_epoch = true;
  std::string log = "[{\"epoch\": 1}]\n\xc3\xa9";
  std::vector<int64_t> order = {2, 0, 1};
  void serialize(Serializer& s) {
    s("l1", l1);
    s("t", t);
    s("epoch", epoch);
    s("rate", rate);
    s("momentum", momentum);
    s("is_new_epoch", is_new_epoch);
    s("_log", log);
    s("order", order);
  }
};

template <class T>
T load_entry(const std::string& path, const std::string& name, T value, LoadNpzOptions options = {}) {
  OneValue<T> one{name, std::move(value)};
  load_npz(path, one, std::move(options));
  return one.value;
}

std::string npz_error(void (*call)(const std::string&), const std::string& path) {
  try {
    call(path);
  } catch (const Error& error) {
    const std::string what = error.what();
    const size_t at = what.find(path);
    return at == what.npos ? what : what.substr(0, at) + "FILE" + what.substr(at + path.size());
  }
  return "no error";
}

}  // namespace

TEST_CASE("save_npz and load_npz give everything back") {
  const ScratchDirectory dir;
  for (const bool compression : {true, false}) {
    CAPTURE(compression);
    Outer saved;
    save_npz(dir / "a.npz", saved, {.compression = compression});
    CHECK(NpzReader(dir / "a.npz").keys() ==
          std::vector<std::string>{"l1/W", "l1/b", "t", "epoch", "rate", "momentum", "is_new_epoch", "_log", "order"});
    Outer loaded;
    loaded.l1.W = zeros({2, 3});
    loaded.l1.b = zeros({2});
    loaded.t = loaded.epoch = 0;
    loaded.rate = loaded.momentum = 0;
    loaded.is_new_epoch = false;
    loaded.log.clear();
    loaded.order.clear();
    const Array W = loaded.l1.W;  // the same elements: loading overwrites in place
    load_npz(dir / "a.npz", loaded);
    CHECK(W.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK_FALSE(loaded.l1.b.is_defined());
    CHECK(loaded.t == 7);
    CHECK(loaded.epoch == 3);
    CHECK(loaded.rate == 0.1);
    CHECK(loaded.momentum == 0.5f);
    CHECK(loaded.is_new_epoch);
    CHECK(loaded.log == saved.log);
    CHECK(loaded.order == saved.order);
  }
  CHECK(dir.count() == 1);
}

TEST_CASE("npz: dtypes of the entries are Chainer's") {
  const ScratchDirectory dir;
  Outer saved;
  save_npz(dir / "a.npz", saved);
  const NpzReader npz(dir / "a.npz");
  CHECK(npz.array("t").dtype() == Dtype::int64);
  CHECK(npz.array("epoch").dtype() == Dtype::int64);
  CHECK(npz.array("rate").dtype() == Dtype::float64);
  CHECK(npz.array("is_new_epoch").dtype() == Dtype::bool_);
  CHECK(npz.array("t").shape() == Shape{});
  CHECK(npz.value("_log").is_text);
  CHECK_FALSE(npz.array("l1/b").is_defined());
}

TEST_CASE("npz: arrays of any layout and dtype are written in C order") {
  const ScratchDirectory dir;
  const Array x = arange(24).reshape({2, 3, 4});
  const Array nhwc = empty_strided({1, 2, 2, 3}, channels_last_strides({1, 2, 2, 3}), Dtype::float32);
  nhwc.copy_from(arange(12).reshape({1, 2, 2, 3}));
  {
    NpzWriter writer(dir / "a.npz");
    writer.add("transposed", x.transpose({2, 0, 1}));
    writer.add("sliced", x.slice(2, 3, 2, -2));
    writer.add("repeated", array<int32_t>({5}).broadcast_to({3}));
    writer.add("channels_last", nhwc);
    writer.add("empty", empty({0, 3}));
    for (Dtype dtype : {Dtype::bool_, Dtype::uint8, Dtype::int8, Dtype::int32, Dtype::int64, Dtype::float16,
                        Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
      writer.add(name(dtype), array<float>({0, 1, 1}).astype(dtype));
    }
    writer.commit();
  }
  const NpzReader npz(dir / "a.npz");
  CHECK(npz.array("transposed").shape() == Shape{4, 2, 3});
  CHECK(npz.array("transposed").to_vector<int>() ==
        std::vector<int>{0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23});
  CHECK(npz.array("sliced").to_vector<int>() == std::vector<int>{3, 1, 7, 5, 11, 9, 15, 13, 19, 17, 23, 21});
  CHECK(npz.array("repeated").to_vector<int>() == std::vector<int>{5, 5, 5});
  CHECK(npz.array("channels_last").to_vector<int>() == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(npz.array("empty").shape() == Shape{0, 3});
  for (Dtype dtype : {Dtype::bool_, Dtype::uint8, Dtype::int8, Dtype::int32, Dtype::int64, Dtype::float16,
                      Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    CHECK(npz.array(name(dtype)).dtype() == dtype);
    CHECK(npz.array(name(dtype)).to_vector<double>() == std::vector<double>{0, 1, 1});
  }
}

TEST_CASE("load_npz converts dtypes within a kind and to a wider kind only") {
  const ScratchDirectory dir;
  const std::string path = dir / "a.npz";
  {
    NpzWriter writer(path);
    writer.add("f8", array<double>({1.5, 2.5}));
    writer.add("i8", array<int64_t>({3, 4}));
    writer.add("five", array<int32_t>({5}, Shape{}));
    writer.add("half", array<float>({0.5}, Shape{}));
    writer.commit();
  }
  CHECK(load_entry(path, "f8", zeros({2})).to_vector<float>() == std::vector<float>{1.5, 2.5});
  CHECK(load_entry(path, "f8", zeros({2}, Dtype::float16)).dtype() == Dtype::float16);
  CHECK(load_entry(path, "i8", zeros({2})).to_vector<float>() == std::vector<float>{3, 4});
  CHECK(load_entry(path, "i8", Array()).dtype() == Dtype::int64);
  CHECK(load_entry(path, "five", 0) == 5);
  CHECK(load_entry(path, "five", 0.0) == 5.0);
  CHECK(load_entry(path, "half", 0.0f) == 0.5f);
  CHECK(npz_error([](const std::string& p) { load_entry(p, "f8", zeros({2}, Dtype::int32)); }, path) ==
        "load_npz: FILE: entry 'f8' has dtype float64 but the object's array has dtype int32");
  CHECK(npz_error(
            [](const std::string& p) {
              load_entry(p, "f8", zeros({2, 1}));
            },
            path) == "load_npz: FILE: entry 'f8' has shape (2,) but the object's array has shape (2, 1)");
  CHECK(npz_error([](const std::string& p) { load_entry(p, "half", 0); }, path) ==
        "load_npz: FILE: entry 'half' has dtype float32 but the object wants a int64 number");
  CHECK(npz_error([](const std::string& p) { load_entry(p, "f8", 0.0); }, path) ==
        "load_npz: FILE: entry 'f8' has shape (2,) but the object wants a float64 number");
  CHECK(npz_error([](const std::string& p) { load_entry(p, "f8", std::string()); }, path) ==
        "load_npz: FILE: entry 'f8' is no string but the object wants one");
}

TEST_CASE("load_npz: missing entries, ignored names, a subtree") {
  const ScratchDirectory dir;
  const std::string path = dir / "a.npz";
  {
    NpzWriter writer(path);
    writer.add("updater/model:main/l1/W", array<float>({1, 2}));
    writer.add("t", array<int64_t>({9}, Shape{}));
    writer.commit();
  }
  CHECK(npz_error([](const std::string& p) { load_entry(p, "l1/b", 0.0); }, path) ==
        "npz: FILE has no entry 'l1/b' but 2 entries: 'updater/model:main/l1/W', 't'");
  CHECK_THROWS_AS(load_entry(path, "l1/b", 0.0), KeyError);
  CHECK(load_entry(path, "l1/b", 4.0, {.strict = false}) == 4.0);
  CHECK(load_entry(path, "t", 4, {.strict = false}) == 9);
  CHECK(load_entry(path, "t", 4, {.ignore_names = {"t"}}) == 4);
  CHECK(load_entry(path, "t", 4, {.ignore = [](const std::string& key) { return key == "t"; }}) == 4);
  for (const char* root : {"updater/model:main", "updater/model:main/", "/updater/model:main/"}) {
    CHECK(load_entry(path, "l1/W", zeros({2}), {.path = root}).to_vector<int>() == std::vector<int>{1, 2});
  }
  NpzDeserializer reader{NpzReader(path)};
  CHECK(reader.contains("t"));
  CHECK_FALSE(reader.contains("W"));
  CHECK(reader.child("updater")->child("/model:main/")->contains("l1/W"));
  CHECK(npz_error([](const std::string& p) { NpzReader{p + ".none"}; }, path) ==
        "zip: FILE.none cannot be opened: No such file or directory");
}

TEST_CASE("NpzWriter without commit leaves the old file") {
  const ScratchDirectory dir;
  Outer saved;
  save_npz(dir / "a.npz", saved);
  const std::string before = read_file(dir / "a.npz");
  saved.log = "\xff";  // not UTF-8: refused in the middle of writing
  CHECK_THROWS_AS(save_npz(dir / "a.npz", saved), ValueError);
  CHECK(read_file(dir / "a.npz") == before);
  CHECK(dir.count() == 1);
}

TEST_CASE("npz: Chainer's snapshots have the keys, dtypes, shapes and values that the manifest says") {
  std::ifstream lines(golden_path("manifest.jsonl"));
  int snapshots = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto golden = nlohmann::json::parse(line);
    if (golden["kind"] != "serializer" || !golden.contains("snapshot") || golden["snapshot"].is_null()) continue;
    ++snapshots;
    const NpzReader npz(golden_path(golden["snapshot"]));
    CHECK(npz.keys().size() == golden["keys"].size());
    for (const auto& expected : golden["keys"]) {
      const std::string key = expected["key"];
      CAPTURE(key);
      const NpzValue value = npz.value(key);
      if (expected.contains("none")) {
        CHECK((!value.is_text && !value.array.is_defined()));
      } else if (value.is_text) {
        CHECK(value.text == expected["value"].get<std::string>());
      } else {
        CHECK(value.array.shape() == Shape(expected["shape"].begin(), expected["shape"].end()));
        CHECK(itemsize(value.array.dtype()) == std::stoll(expected["dtype"].get<std::string>().substr(2)));
        if (!expected.contains("value")) continue;
        const auto& number = expected["value"];
        CHECK(value.array.item<double>() ==
              (number.is_boolean() ? static_cast<double>(number.get<bool>()) : number.get<double>()));
      }
    }
  }
  CHECK(snapshots == 15);
}
