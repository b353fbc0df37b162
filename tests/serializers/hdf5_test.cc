#include "kusari/framework/serializers/hdf5.h"

#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/golden_data.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/serializers/one_value.h"

using namespace kusari;
using namespace kusari::serializers;
using kusari::testing::golden_path;
using kusari::testing::OneValue;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

class Hdf5Chain : public Chain {
 public:
  Hdf5Chain() : l1{*this, "l1", 3, 4}, bn{*this, "bn", 4}, l2{*this, "l2", kInfer, 2} {}
  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l2;
  PersistentScalar<int64_t> seen{*this, "seen", 0};
  PersistentScalar<double> rate{*this, "rate", 0};
  PersistentScalar<bool> trained{*this, "trained", false};
};

Array numbers(Dtype dtype) { return array<double>({0, 1, 2, 3, 100, 5}, {2, 3}).astype(dtype); }

}  // namespace

TEST_SUITE("hdf5") {
  TEST_CASE("save_hdf5 and load_hdf5 give everything back") {
    if (!has_hdf5()) return;
    const ScratchDirectory dir;
    for (const int compression : {0, 4, 9}) {
      Dictionary entries;
      for (int i = 0; i < kDtypeCount; ++i) {
        const auto dtype = static_cast<Dtype>(i);
        entries.emplace_back(std::string("a/") + name(dtype), Entry{numbers(dtype)});
        entries.emplace_back(std::string("scalar/") + name(dtype), Entry{ones({}, dtype)});
      }
      entries.emplace_back("empty", Entry{zeros({0, 3})});
      entries.emplace_back("transposed", Entry{numbers(Dtype::float32).transpose()});
      entries.emplace_back("none", Entry{});
      entries.emplace_back("text", Entry{Array(), "sch\xc3\xb6n\n", true});
      entries.emplace_back("no_text", Entry{Array(), "", true});
      entries.emplace_back("updater/model:main/large", Entry{random::normal({3, 200, 1000})});
      save_hdf5_dictionary(dir / "a.h5", entries, {.compression = compression});
      const Hdf5Reader file(dir / "a.h5");
      CHECK(file.keys().size() == entries.size());
      for (const auto& [key, entry] : entries) {
        CAPTURE(key);
        const Entry found = file.value(key);
        CHECK(found.is_text == entry.is_text);
        CHECK(found.text == entry.text);
        REQUIRE(found.array.is_defined() == entry.array.is_defined());
        if (!found.array.is_defined()) continue;
        CHECK(found.array.dtype() == entry.array.dtype());
        CHECK(found.array.shape() == entry.array.shape());
        CHECK(found.array.to_vector<double>() == entry.array.to_vector<double>());
      }
    }
  }

  TEST_CASE("what is not finite stays so, in 16 bits too") {
    if (!has_hdf5()) return;
    const ScratchDirectory dir;
    const double inf = std::numeric_limits<double>::infinity();
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
      CAPTURE(name(dtype));
      save_hdf5_dictionary(dir / "a.h5", {{"x", Entry{array<double>({inf, -inf, -0.0, 1e-7, 3e-5}).astype(dtype)}}});
      const auto expected = array<double>({inf, -inf, -0.0, 1e-7, 3e-5}).astype(dtype).to_vector<double>();
      CHECK(Hdf5Reader(dir / "a.h5").array("x").to_vector<double>() == expected);
    }
  }

  TEST_CASE("a chain that Chainer has saved") {
    if (!has_hdf5()) return;
    Hdf5Chain model;
    load_hdf5(golden_path("serializers/chain.h5"), model);
    CHECK(model.l1.W.array().to_vector<double>() ==
          std::vector<double>{0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.125, 1.25, 1.375});
    CHECK(model.l1.b.array().to_vector<double>() == std::vector<double>{1, 2, 3, 4});
    CHECK(model.bn.gamma.array().to_vector<double>() == std::vector<double>(4, 1));
    CHECK_FALSE(model.l2.W.is_initialized());
    CHECK(model.seen == 7);
    CHECK(model.rate == 0.5);
    CHECK(model.trained == true);

    const ScratchDirectory dir;
    save_hdf5(dir / "again.h5", model);
    CHECK(Hdf5Reader(dir / "again.h5").keys() == Hdf5Reader(golden_path("serializers/chain.h5")).keys());
  }

  TEST_CASE("types that h5py writes") {
    if (!has_hdf5()) return;
    const Hdf5Reader file(golden_path("serializers/types.h5"));
    const std::pair<const char*, Dtype> types[] = {
        {"i1", Dtype::int8},       {"u1", Dtype::uint8},   {"i2", Dtype::int32},   {"u2", Dtype::int32},
        {"i4", Dtype::int32},      {"u4", Dtype::int64},   {"i8", Dtype::int64},   {"u8", Dtype::int64},
        {"f2", Dtype::float16},    {"f4", Dtype::float32}, {"f8", Dtype::float64}, {"big_i4", Dtype::int32},
        {"big_f8", Dtype::float64}};
    for (const auto& [key, dtype] : types) {
      CAPTURE(key);
      const Array read = file.array(std::string("t/") + key);
      CHECK(read.dtype() == dtype);
      CHECK(read.shape() == Shape{2, 3});
      CHECK(read.to_vector<double>() == std::vector<double>{0, 1, 2, 3, 100, 5});
    }
    CHECK(file.array("t/b1").dtype() == Dtype::bool_);
    CHECK(file.array("t/b1").to_vector<int>() == std::vector<int>{0, 1, 1, 1, 0, 1});
    CHECK(file.value("text").text == "sch\xc3\xb6n");
    CHECK(file.value("fixed").text == "abc");
    CHECK(file.array("scalar").item<double>() == 2.5);
    CHECK(file.array("empty").shape() == Shape{0, 3});
    CHECK_FALSE(file.array("none").is_defined());
    CHECK_THROWS_WITH_AS(file.array("complex"), doctest::Contains("entry 'complex' is of a type that no array has"),
                         IoError);
    CHECK_THROWS_WITH_AS(file.array("strings"), doctest::Contains("entry 'strings' is an array of strings"), IoError);
    CHECK_THROWS_WITH_AS(file.array("too_wide"), doctest::Contains("has numbers above what int64 holds"), IoError);
    CHECK_THROWS_WITH_AS(file.array("absent"), doctest::Contains("has no entry 'absent' but"), KeyError);
    CHECK_THROWS_WITH_AS(file.array("text"), doctest::Contains("entry 'text' is a string, not an array"), TypeError);
  }

  TEST_CASE("a trainer's log, options, and errors that leave the object as it was") {
    if (!has_hdf5()) return;
    const ScratchDirectory dir;
    OneValue<std::string> log{"_log", "[{\"epoch\": 1}]"};
    save_hdf5(dir / "log.h5", log);
    OneValue<std::string> again{"_log", ""};
    load_hdf5(dir / "log.h5", again);
    CHECK(again.value == log.value);

    Hdf5Chain model;
    const auto before = model.l1.W.array().to_vector<float>();
    CHECK_THROWS_AS(load_hdf5(dir / "log.h5", model), KeyError);
    CHECK(model.l1.W.array().to_vector<float>() == before);
    const LoadReport report = load_hdf5(dir / "log.h5", model, {.strict = false});
    CHECK(report.unexpected == std::vector<std::string>{"_log"});
    CHECK(report.missing.size() == 12);

    save_hdf5_dictionary(dir / "inside.h5", {{"updater/model:main/x", Entry{ones({2})}}});
    OneValue<Array> x{"x", Array()};
    load_hdf5(dir / "inside.h5", x, {.path = "updater/model:main"});
    CHECK(x.value.to_vector<float>() == std::vector<float>{1, 1});
    CHECK(open_entries(dir / "inside.h5")->keys() == std::vector<std::string>{"updater/model:main/x"});

    const std::string saved = read_file(dir / "log.h5");
    CHECK_THROWS_WITH_AS(save_hdf5_dictionary(dir / "log.h5", {{"a", Entry{ones({2})}}, {"a/b", Entry{ones({2})}}}),
                         doctest::Contains("save_hdf5: 'a/b' cannot be an entry of"), ValueError);
    CHECK_THROWS_WITH_AS(save_hdf5_dictionary(dir / "log.h5", {}, {.compression = 10}),
                         "save_hdf5: compression is 10: it must be in [0, 9]", ValueError);
    CHECK_THROWS_AS(save_hdf5_dictionary(dir / "none/a.h5", {}), IoError);
    CHECK(read_file(dir / "log.h5") == saved);
  }

  TEST_CASE("files that are none, or damaged") {
    if (!has_hdf5()) {
      CHECK_THROWS_WITH_AS(Hdf5Reader("a.h5"), doctest::Contains("this build has no libhdf5"), IoError);
      return;
    }
    const ScratchDirectory dir;
    CHECK_THROWS_WITH_AS(Hdf5Reader(dir / "none.h5"), doctest::Contains("No such file"), IoError);
    write_file(dir / "text.h5", "text");
    CHECK_THROWS_WITH_AS(Hdf5Reader(dir / "text.h5"), doctest::Contains("is no HDF5 file, or is damaged"), IoError);
    const std::string whole = read_file(golden_path("serializers/chain.h5"));
    for (size_t size = 0; size < whole.size(); size += 97) {
      write_file(dir / "cut.h5", whole.substr(0, size));
      CHECK_THROWS_AS(Hdf5Reader(dir / "cut.h5"), IoError);
    }
  }

  TEST_CASE("several threads read and write") {
    if (!has_hdf5()) return;
    const ScratchDirectory dir;
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const std::string path = dir / (std::to_string(i) + ".h5");
        for (int j = 0; j < 10; ++j) {
          save_hdf5_dictionary(path, {{"x", Entry{full({100}, i + j, Dtype::int32)}}});
          right += Hdf5Reader(path).array("x").to_vector<int>() == std::vector<int>(100, i + j) ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(right == 40);
  }
}
