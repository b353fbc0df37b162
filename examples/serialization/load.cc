// Loads the files that save.cc has written, and checks that each has the same model.
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/serialization/model.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string out = text("-o,--out", ".", "Directory with the files");
};

void load(const Arguments& args) {
  Mlp model(784, 100, 10);
  serializers::load_npz(args.out + "/model.npz", model);
  std::printf("model.npz loaded!\n");

  const Variable x = random::normal({1, 784});
  const auto expected = model(x).to_vector<float>();
  const auto check = [&](const char* name, auto load_file) {
    Mlp other(784, 100, 10);
    load_file(args.out + "/" + name, other);
    if (other(x).to_vector<float>() != expected) throw Error(std::string(name) + " has another model");
    std::printf("%s loaded!\n", name);
  };
  if (serializers::has_hdf5()) {
    check("model.h5", [](const std::string& path, Mlp& other) { serializers::load_hdf5(path, other); });
  }
  check("model.safetensors", [](const std::string& path, Mlp& other) { serializers::load_safetensors(path, other); });
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: loading a model", load); }
