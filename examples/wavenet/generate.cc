// Makes a sound after the spectrum of another one, with a network that train_wavenet has trained.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/wavenet/net.h"
#include "kusari/examples/wavenet/player.h"
#include "kusari/examples/wavenet/size_flags.h"
#include "kusari/examples/wavenet/sound.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string input = text("-i,--input", "generated", "WAV file whose spectrum is followed, or generated: a melody");
  std::string output = text("-o,--output", "result.wav", "Sound to be written");
  std::string model = text("-m,--model", "result/wavenet.model", "Trained network");
  WaveNetSizes sizes = size_flags(*this);
  double temperature = real("--temperature", 1, "Below 1: likelier samples", positive());
  int64_t length = number("--length", 0, "Number of samples; 0: those of the input", not_negative());
  std::string device = device_flag();
  int64_t seed = number("--seed", 0, "Random seed", not_negative());
};

void make_sound(const Arguments& args) {
  random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  Sound sound = args.input == "generated" ? drawn_melody(8000, 1'000'000) : read_wav(args.input);
  if (args.length > 0 && args.length < static_cast<int64_t>(sound.samples.size())) {
    sound.samples.resize(static_cast<size_t>(args.length));
  }
  const Array spectrum = log_spectrum(sound.samples).reshape({1, kBands, -1});

  WaveNet net(kBands, args.sizes);
  serializers::load_npz(args.model, net);
  net.to(device);

  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  Player player(net, spectrum.to_device(device), kHop);
  const auto begin = std::chrono::steady_clock::now();
  Sound made{sound.rate, {}};
  int32_t level = mu_law(0, args.sizes.a_channels);
  for (int64_t i = 0; i < spectrum.shape(2) * kHop; ++i) {
    const D::Categorical next({.logit = player(level) / args.temperature});
    level = next.sample().item<int32_t>();
    made.samples.push_back(mu_law_inverse(level, args.sizes.a_channels));
  }
  write_wav(args.output, made);

  // How far its spectrum is from the one that it follows, beside that of silence
  const auto distance = [&](const std::vector<float>& samples) {
    return F::mean_absolute_error(log_spectrum(samples).reshape({1, kBands, -1}), spectrum).item<double>();
  };
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%s: %zu samples in %.1f s\n", args.output.c_str(), made.samples.size(), seconds);
  std::printf("distance of spectra: %.3f (of silence: %.3f)\n", distance(made.samples),
              distance(std::vector<float>(made.samples.size())));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: sounds by WaveNet", make_sound);
}
