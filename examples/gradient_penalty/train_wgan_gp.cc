// Trains a Wasserstein GAN with gradient penalty on eight Gaussians: the gradient of the critic's gradient in a loss.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/gradient_penalty/gaussian_ring.h"
#include "kusari/examples/gradient_penalty/net.h"
#include "kusari/examples/gradient_penalty/updater.h"

using namespace kusari;

namespace {

struct Arguments {
  int64_t batchsize = 256;
  int64_t iteration = 3000;
  int64_t interval = 500;
  std::string device = "cpu";
  std::string out = "result";
  std::string resume;
  int64_t unit = 128;
  int64_t n_critic = 5;
  double gradient_weight = 1;
  double alpha = 1e-3;
  double deviation = 0.05;
  bool test = false;
  int64_t seed = 0;
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("-b,--batchsize", args.batchsize, "Number of points in each mini-batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-i,--iteration", args.iteration, "Number of steps of the generator")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("--interval", args.interval, "Iterations between two rows of the log")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", args.resume, "Resume the training from this snapshot");
  parser.add_option("-u,--unit", args.unit, "Number of units")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_option("--n-critic", args.n_critic, "Steps of the critic for one of the generator")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("--lambda", args.gradient_weight, "Weight of the gradient penalty")->capture_default_str();
  parser.add_option("--alpha", args.alpha, "Step size of Adam at the beginning")->capture_default_str();
  parser.add_option("--deviation", args.deviation, "Standard deviation of points around their centers")
      ->capture_default_str();
  parser.add_flag("--test", args.test, "Take 20 steps with a few points for a quick test");
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same")
      ->capture_default_str();
  parser.parse(argc, argv);
  if (args.test) {
    args.batchsize = 16;
    args.iteration = 20;
    args.interval = 10;
  }
  return args;
}

// Draws points as dots on a plane of -1.5 .. 1.5, real ones orange and generated ones blue.
void save_points(const std::string& path, const Array& real, const Array& generated) {
  constexpr int64_t kSide = 300;
  constexpr size_t kPixels = static_cast<size_t>(kSide) * kSide;
  std::vector<uint8_t> image(3 * kPixels, 255);
  const auto draw = [&](const Array& points, std::array<uint8_t, 3> color) {
    const std::vector<double> x = points.to_vector<double>();
    const auto pixel = [](double value) { return static_cast<int64_t>((value + 1.5) / 3 * kSide); };
    for (size_t i = 0; i < x.size(); i += 2) {
      const int64_t column = pixel(x[i]), row = kSide - 1 - pixel(x[i + 1]);
      if (std::min(column, row) < 0 || std::max(column, row) >= kSide) continue;
      for (size_t c = 0; c < 3; ++c) image[c * kPixels + static_cast<size_t>(row * kSide + column)] = color[c];
    }
  };
  draw(real, {255, 127, 14});
  draw(generated, {31, 119, 180});
  datasets::save_png(path, array(image, {3, kSide, kSide}));
}

void train(const Arguments& args) {
  random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  std::printf("Device: %s\n", device.name().c_str());
  std::printf("# unit: %lld\n", static_cast<long long>(args.unit));
  std::printf("# Minibatch-size: %lld\n", static_cast<long long>(args.batchsize));
  std::printf("# iteration: %lld\n\n", static_cast<long long>(args.iteration));

  // Set up the points to imitate
  const GaussianRing ring(args.deviation);
  const auto points = ring.draw(5000, static_cast<uint64_t>(args.seed));
  iterators::SerialIterator train_iter(points, args.batchsize);

  // Set up the networks and their optimizers
  const WganGpOptions options{.n_critic = args.n_critic, .gradient_weight = args.gradient_weight, .device = device};
  Mlp gen(options.n_latent, args.unit, 2), critic(2, args.unit, 1);
  gen.to(device);
  critic.to(device);
  optimizers::Adam gen_optimizer({.alpha = args.alpha, .beta1 = 0.5, .beta2 = 0.9});
  optimizers::Adam critic_optimizer({.alpha = args.alpha, .beta1 = 0.5, .beta2 = 0.9});
  gen_optimizer.setup(gen);
  critic_optimizer.setup(critic);

  // Set up a trainer
  WganGpUpdater updater(train_iter, gen, critic, gen_optimizer, critic_optimizer, options);
  training::Trainer trainer(updater, {args.iteration, "iteration"}, args.out);
  const training::TriggerRef interval(args.interval, "iteration");

  // Let both step sizes fall to zero
  for (Optimizer* const optimizer : {&gen_optimizer, &critic_optimizer}) {
    trainer.extend(extensions::CosineShift("alpha", args.iteration, {.optimizer = *optimizer}),
                   {.trigger = {1, "iteration"}});
  }

  // Count the centers that the generator has found
  const auto generated = [&](int64_t n) {
    const auto no_graph = no_backprop_mode();
    return updater.generate(n).array();
  };
  const auto count_modes = [&](training::Trainer&) {
    const auto coverage = ring.coverage(generated(8000));
    report({{"modes", coverage.modes}, {"quality", coverage.quality}}, gen);
  };
  trainer.extend(count_modes, {.name = "coverage", .trigger = interval, .priority = training::kPriorityWriter});

  trainer.extend(extensions::snapshot(), {.trigger = {args.iteration, "iteration"}});
  trainer.extend(extensions::LogReport({.trigger = interval}));
  trainer.extend(extensions::PrintReport({"iteration", "critic/distance", "critic/gradient_norm", "critic/penalty",
                                          "gen/modes", "gen/quality", "elapsed_time"}),
                 {.trigger = interval});
  trainer.extend(extensions::ProgressBar());
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  // Run the training
  trainer.run();

  const auto coverage = ring.coverage(generated(8000));
  std::printf("The generator has found %d of %d centers; %.1f %% of its points are within three deviations of one.\n",
              coverage.modes, GaussianRing::kModes, 100 * coverage.quality);
  save_points((std::filesystem::path(args.out) / "points.png").string(), points.arrays()[0], generated(5000));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: WGAN-GP");
  try {
    train(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_wgan_gp: %s\n", error.what());
    return 1;
  }
}
