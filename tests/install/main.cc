// Learns exclusive or with the installed library, and prints what it learnt. With an argument the CUDA backend is
// installed too, and must be found, whether or not there is a card.
#include <kusari/kusari.h>

#include <cstdio>
#include <string>

using namespace kusari;

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

int main(int argc, char**) {
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
