// A program in C++ that has libkusari_inference alone: sessions, arrays, errors.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <kusari/framework/core/threads.h>
#include <kusari/framework/inference/loaders.h>

int main(int, char** arguments) {
  using namespace kusari;
  try {
    inference::open_session("missing.onnx");
    return 1;
  } catch (const IoError& error) {
    if (std::string(error.what()).find("missing.onnx") == std::string::npos) return 1;
  }
  try {
    get_device("cuda:0");
    return 1;
  } catch (const DeviceError& error) {
    std::printf("%s\n", error.what());
  }
  std::vector<float> numbers(2 * 3 * 16 * 16 + 2 * 5);
  std::ifstream file(arguments[2], std::ios::binary);
  file.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  if (!file) return 1;
  set_num_threads(2);
  const InferenceSession session = inference::open_session(arguments[1], {.shapes = {{{2, 3, 16, 16}}}});
  const Array x = array(std::vector<float>(numbers.begin(), numbers.end() - 10), {2, 3, 16, 16});
  const Array y = zeros({2, 5});
  session.run({x}, {y});
  const std::vector<float> found = y.to_vector<float>();
  for (size_t i = 0; i < found.size(); ++i) {
    const float expected = numbers[numbers.size() - 10 + i];
    if (std::abs(found[i] - expected) <= 1e-4F) continue;
    std::printf("result %zu is %g, not %g\n", i, static_cast<double>(found[i]), static_cast<double>(expected));
    return 1;
  }
  try {
    session.run({zeros({2, 4, 16, 16})});
    return 1;
  } catch (const TypeError& error) {
    std::printf("%s\n", error.what());
  }
  std::printf("as expected: %s\n", to_string(y.shape()).c_str());
  return 0;
}
