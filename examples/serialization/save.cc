// Saves a model in each format, and lists what is in the files. load.cc reads them.
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/serialization/model.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string out = text("-o,--out", ".", "Directory for the files");
};

void list_entries(const std::string& path) {
  std::printf("%s saved!\n\n--- The list of saved params in %s ---\n", path.c_str(), path.c_str());
  const auto file = serializers::open_entries(path);
  for (const std::string& key : file->keys()) {
    std::printf("%s \t: %s\n", key.c_str(), to_string(file->value(key).array.shape()).c_str());
  }
  std::printf("---------------------------------------------\n\n");
}

void save(const Arguments& args) {
  Mlp model(784, 100, 10);

  // NumPy's format, which Chainer reads too
  serializers::save_npz(args.out + "/model.npz", model);
  list_entries(args.out + "/model.npz");

  // HDF5, which Chainer reads too
  if (serializers::has_hdf5()) {
    serializers::save_hdf5(args.out + "/model.h5", model);
    list_entries(args.out + "/model.h5");
  }

  // What PyTorch's users have
  serializers::save_safetensors(args.out + "/model.safetensors", model);
  list_entries(args.out + "/model.safetensors");
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: saving a model", save); }
