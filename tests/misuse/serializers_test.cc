#include "kusari/tests/misuse/misuse.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: serializers") {
  check_misuses({
      {[] { serializers::save_npy("unused.npy", Array()); }, is<TypeError>,
       "save_npy: array is not given: it is required"},
      {[] { serializers::load_npy("/nonexistent/x.npy"); }, is<IoError>,
       "load_npy: /nonexistent/x.npy cannot be opened: No such file or directory"},
      {[] {
         Net net;
         serializers::load_npz("/nonexistent/x.npz", net);
       },
       is<IoError>, "zip: /nonexistent/x.npz cannot be opened: No such file or directory"},
      {[] {
         Net net;
         serializers::save_npz("/nonexistent/x.npz", net);
       },
       is<IoError>,
       "AtomicFile: cannot write /nonexistent/x.npz: there is no folder /nonexistent: create it first "
       "(std::filesystem::create_directories)"},
      {[] {
         Net net;
         serializers::load_safetensors("/nonexistent/x", net);
       },
       is<IoError>, "safetensors: /nonexistent/x cannot be opened: No such file or directory"},
  });
}

TEST_CASE("misuse: files of other models") {
  const testing::ScratchDirectory directory;
  const std::string npz = directory / "net.npz", safetensors = directory / "net.safetensors";
  Net net;
  serializers::save_npz(npz, net);
  serializers::save_safetensors(safetensors, net);

  L::Linear bare(3, 2);
  const std::string absent_entry = "npz: " + npz + " has no entry 'W' but 2 entries: 'l/W', 'l/b'";
  CHECK_THROWS_WITH_AS(serializers::load_npz(npz, bare), absent_entry.c_str(), KeyError);

  struct Wider : Chain {
    Child<L::Linear> l{*this, "l", 4, 2};
  } wider;
  const std::string other_shape = ": entry 'l/W' has shape (2, 3) but the object's array has shape (2, 4)";
  CHECK_THROWS_WITH_AS(serializers::load_npz(npz, wider), ("load_npz: " + npz + other_shape).c_str(), TypeError);
  CHECK_THROWS_WITH_AS(serializers::load_safetensors(safetensors, wider),
                       ("load_safetensors: " + safetensors + other_shape).c_str(), TypeError);
  CHECK_THROWS_AS(serializers::load_npz(safetensors, net), IoError);
  CHECK_THROWS_AS(serializers::load_safetensors(npz, net), IoError);
}

}  // namespace
}  // namespace kusari::misuse
