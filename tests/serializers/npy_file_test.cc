#include "kusari/framework/serializers/npy_file.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npy.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using namespace kusari::serializers;
using namespace kusari::testing;

TEST_CASE("npy files go to disk and back") {
  const ScratchDirectory scratch;
  const std::string path = scratch / "a.npy";
  for (const Array& array : {arange(24).reshape({2, 3, 4}), arange(24, Dtype::uint8).reshape({4, 6}).transpose(),
                             zeros({0, 3}, Dtype::int64), full({}, 2.5, Dtype::float64)}) {
    save_npy(path, array);
    const Array loaded = load_npy(path);
    CHECK(loaded.shape() == array.shape());
    CHECK(loaded.dtype() == array.dtype());
    CHECK(loaded.to_vector<double>() == array.to_vector<double>());
  }
  // What NumPy would have written.
  save_npy(path, array<int32_t>({1, 2}));
  CHECK(read_file(path) == npy_header("<i4", {2}) + std::string("\1\0\0\0\2\0\0\0", 8));
  CHECK(scratch.count() == 1);
}

TEST_CASE("load_npy: errors name the file") {
  const ScratchDirectory scratch;
  const std::string path = scratch / "a.npy";
  CHECK_THROWS_WITH_AS(load_npy(path), ("load_npy: " + path + " cannot be opened: No such file or directory").c_str(),
                       IoError);
  CHECK_THROWS_AS(load_npy(scratch.path()), IoError);
  const auto message = [&](const std::string& content) {
    write_file(path, content);
    try {
      load_npy(path);
    } catch (const IoError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  save_npy(path, arange(5));
  const std::string whole = read_file(path);
  for (const std::string& content :
       {std::string(), whole.substr(0, 5), whole.substr(0, whole.size() - 1), whole + "x", npy_none(), npy_text("a")}) {
    CHECK(message(content).find(path) != std::string::npos);
  }
  CHECK_THROWS_AS(save_npy(scratch / "missing/a.npy", arange(2)), IoError);
}
