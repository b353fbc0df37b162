// Learns exclusive or with the installed library, and prints what it learnt. With an argument the CUDA backend is
// installed too, and must be found, whether or not there is a card.
#include <kusari/kusari.h>

#include <cstdio>
#include <string>

using namespace kusari;

static_assert(KUSARI_VERSION_MAJOR >= 0 && KUSARI_VERSION_MINOR >= 0 && KUSARI_VERSION_PATCH >= 0);

class Mlp : public Chain {
 public:
  explicit Mlp(int64_t units) : l1{*this, "l1", kInfer, units}, l2{*this, "l2", units, 2} {}
  Variable operator()(const Variable& x) { return l2(F::tanh(l1(x))); }

 private:
  Child<L::Linear> l1, l2;
};

bool finds_cuda_backend() {
  try {
    return get_device("cuda:0").name() == "cuda:0";
  } catch (const DeviceError& error) {
    std::printf("%s\n", error.what());
    return std::string(error.what()).find("(no CUDA device was found)") != std::string::npos;
  }
}

bool versions_agree() {
  const std::string version = std::to_string(KUSARI_VERSION_MAJOR) + "." + std::to_string(KUSARI_VERSION_MINOR) + "." +
                              std::to_string(KUSARI_VERSION_PATCH);
#if defined(FOUND_VERSION)
  if (version != FOUND_VERSION) return false;  // what CMake found
#endif
  return version == KUSARI_VERSION && runtime_info().find("Kusari: " + version + "\n") != std::string::npos;
}

int main(int argc, char**) {
  if (!versions_agree()) return 3;
  if (argc > 1 && !finds_cuda_backend()) return 2;
  random::seed(1);
  auto model = L::classifier(Mlp(8));
  optimizers::Adam optimizer({.alpha = 0.05});
  optimizer.setup(model);

  const Variable x = array<float>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  const Variable t = array<int32_t>({0, 1, 1, 0});
  for (int step = 0; step < 200; ++step) optimizer.update(model, x, t);

  const auto loss = model.loss.array().to_vector<float>()[0];
  std::printf("loss %f\n", loss);
  return loss < 0.05f ? 0 : 1;
}
