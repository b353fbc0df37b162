// Writes a model as an ONNX file with the installed libraries.
#include <kusari/framework/onnx/converter.h>
#include <kusari/framework/onnx/export_model.h>
#include <kusari/framework/onnx/function.h>
#include <kusari/kusari.h>

#include <cstdio>

int main(int, char** arguments) {
  using namespace kusari;
  const Sequential net(L::Linear(4, 3), F::relu, L::Linear(3, 2));
  onnx::export_model(net, {Variable(ones({1, 4}))}, arguments[1], {.dynamic_batch = true});
  std::printf("wrote %s\n", arguments[1]);
}
