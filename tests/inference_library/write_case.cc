// Writes FOLDER/net.onnx, and FOLDER/case.bin: its input (2, 3, 16, 16) and what it gives for that, (2, 5), in float32.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <kusari/framework/onnx/export_model.h>
#include <kusari/kusari.h>

int main(int, char** arguments) {
  using namespace kusari;
  const std::string folder = std::string(arguments[1]) + "/";
  random::seed(1);
  const Sequential net(
      L::Convolution2D(3, 16, 3, {.pad = 1}), L::BatchNormalization(16), F::relu,
      [](const Variable& x) { return F::max_pooling_2d(x, 2); }, L::Convolution2D(16, 24, 3), F::relu,
      L::Linear(24 * 36, 5), [](const Variable& x) { return F::softmax(x); });
  const Variable x(random::uniform({2, 3, 16, 16}, {.low = -1, .high = 1}), false);
  const auto no_training = using_config(&Config::train, false);
  const Variable y = net(x);
  onnx::export_model(net, {x}, folder + "net.onnx", {.dynamic_batch = true});
  std::ofstream file(folder + "case.bin", std::ios::binary);
  for (const Variable& part : {x, y}) {
    const std::vector<float> numbers = part.to_vector<float>();
    file.write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  }
  return file.good() ? 0 : 1;
}
