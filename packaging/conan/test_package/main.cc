// A step of a small network with the packaged library.
#include <cstdio>

#include <kusari/kusari.h>

using namespace kusari;

int main() {
  random::seed(0);
  L::Linear model(3, 2);
  optimizers::SGD optimizer({.lr = 0.1});
  optimizer.setup(model);
  const Array x = random::normal({8, 3});
  const auto loss = [&] { return F::mean(F::square(model(x))); };
  const double before = loss().item<double>();
  optimizer.update(loss);
  const double after = loss().item<double>();
  std::printf("Kusari %s: loss %.4f, then %.4f\n", KUSARI_VERSION, before, after);
  return after < before ? 0 : 1;
}
