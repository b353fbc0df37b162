// Writes a model as an ONNX file with the installed libraries.
#include <kusari/kusari.h>
#include <kusari/onnx.h>

#include <cstdio>

int main(int, char** arguments) {
  using namespace kusari;
  const Sequential net(L::Linear(4, 3), F::relu, L::Linear(3, 2));
  onnx::export_model(net, {Variable(ones({1, 4}))}, arguments[1], {.dynamic_batch = true});
  std::printf("wrote %s\n", arguments[1]);
}
