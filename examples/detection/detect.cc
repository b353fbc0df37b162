// Finds objects in images with what train_detection has trained.
//
//   detect images --result result              # all images of a folder
//   detect images --result result --watch      # and those that come
//   grabber | detect - --result result         # JPEG files from standard input
//
// Prints a line of JSON for each image, with its boxes and the milliseconds of each part, and writes a picture of it.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <kusari/kusari.h>
#include <nlohmann/json.hpp>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/detection/detectors.h"
#include "kusari/examples/detection/finder.h"
#include "kusari/examples/detection/jpeg_stream.h"
#include "kusari/examples/precision.h"

using namespace kusari;
namespace fs = std::filesystem;

namespace {

struct Arguments : Flags {
  std::string input =
      text("input", "",
           "A folder of JPEG and PNG files, one such file, or - for JPEG files one after the other from "
           "standard input",
           required());
  std::string result = text("--result", "result", "Output directory of a train_detection");
  std::string weights = text("--weights", "", "Other weights than model.npz there");
  std::string out = text("-o,--out", "detections", "Folder of the pictures that are drawn");
  bool no_pictures = flag("--no-pictures", "Draw none");
  double score = real("--score", 0.3, "What is less sure does not count", between(0.0, 1.0));
  bool watch = flag("--watch", "Go on with files that come into the folder, until Ctrl-C");
  double interval = real("--interval", 0.2, "Seconds between two looks into the folder", between(0.01, 3600.0));
  int64_t limit = number("--limit", 0, "End after so many images (0: none)", not_negative());
  bool skip_broken =
      flag("--skip-broken", "Print a line with an error for a file that cannot be read, and go on, instead of ending");
  bool static_graph = flag("--static-graph", "Record the network once for each size, then replay it");
  std::string device = device_flag();
  std::string dtype = dtype_flag(*this);
};

volatile std::sig_atomic_t g_interrupted = 0;

double rounded(double milliseconds) { return std::round(milliseconds * 1000) / 1000; }

// The network as a static graph's function, or as it is.
std::function<Variables(const Variable& x)> network_of(const L::Detector& detector, bool is_static) {
  const auto call = [&detector](const Variable& x) { return see(detector, x); };
  if (!is_static) return call;
  return [graph = static_graph(call)](const Variable& x) mutable { return graph(x); };
}

class Program {
 public:
  explicit Program(const Arguments& args)
      : args_{args},
        spec_{load_spec(args.result)},
        detector_{load_detector(spec_, args.result, args.weights, get_device(args.device))},
        network_{network_of(*detector_, args.static_graph)} {
    detector_->decoding.score_thresh = args.score;
    if (!args.no_pictures) fs::create_directories(args.out);
  }

  // Whether there is to be another one.
  bool wants_more() const { return g_interrupted == 0 && (args_.limit == 0 || images_ + broken_ < args_.limit); }
  int64_t broken() const { return broken_; }
  int64_t images() const { return images_; }

  // name: in lines, and of the picture, without its folder.
  void find(const std::string& name, std::span<const uint8_t> bytes) {
    FindTimes times;
    Stopwatch watch;
    const Array image = datasets::decode_image(bytes, {}, name);
    times.decode = watch.lap();
    const Detections found = find_objects(*detector_, network_, image, times);
    nlohmann::ordered_json boxes = nlohmann::ordered_json::array();
    for (size_t i = 0; i < found.bbox.size(); ++i) {
      const Box& box = found.bbox[i];
      boxes.push_back({{"label", spec_.label_names.at(static_cast<size_t>(found.label[i]))},
                       {"score", found.score[i]},
                       {"bbox", {box.x_min, box.y_min, box.width(), box.height()}}});
    }
    nlohmann::ordered_json line{{"image", name},
                                {"height", image.shape(1)},
                                {"width", image.shape(2)},
                                {"boxes", boxes},
                                {"ms",
                                 {{"decode", rounded(times.decode)},
                                  {"prepare", rounded(times.prepare)},
                                  {"network", rounded(times.network)},
                                  {"boxes", rounded(times.boxes)}}}};
    if (!args_.no_pictures) {
      const fs::path picture = fs::path(args_.out) / (fs::path(name).filename().string() + ".png");
      datasets::save_png(picture.string(), datasets::vis_bbox(image, found, {.label_names = spec_.label_names}));
      line["picture"] = picture.string();
    }
    print(line);
    ++images_;
  }

  // Ends the program, unless broken files are to be left out.
  void refuse(const std::string& name, const Error& error) {
    if (!args_.skip_broken) throw;
    print({{"image", name}, {"error", error.what()}});
    ++broken_;
  }

 private:
  static void print(const nlohmann::ordered_json& line) {
    // A name may have bytes that are no UTF-8.
    std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
    std::fflush(stdout);
  }

  const Arguments& args_;
  DetectorSpec spec_;
  std::unique_ptr<L::Detector> detector_;
  std::function<Variables(const Variable& x)> network_;
  int64_t images_ = 0, broken_ = 0;
};

bool is_image(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

std::vector<uint8_t> read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw IoError("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void find_in_file(Program& program, const fs::path& path) {
  try {
    program.find(path.string(), read_bytes(path));
  } catch (const IoError& error) {
    program.refuse(path.string(), error);
  }
}

// A file that is being written grows, or cannot be decoded yet: it is taken when its size and time have stood still
// from one look to the next.
struct Look {
  uintmax_t size;
  fs::file_time_type time;
  friend bool operator==(const Look&, const Look&) = default;
};

void find_in_folder(Program& program, const Arguments& args) {
  std::set<fs::path> done;
  std::map<fs::path, Look> growing;
  while (program.wants_more()) {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(args.input)) {
      if (!is_image(entry.path()) || done.contains(entry.path())) continue;
      std::error_code gone;
      const Look look{entry.file_size(gone), entry.last_write_time(gone)};
      if (gone) continue;
      const bool stands_still = growing.contains(entry.path()) && growing.at(entry.path()) == look;
      growing[entry.path()] = look;
      if (stands_still || !args.watch) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
      if (!program.wants_more()) break;
      find_in_file(program, path);
      done.insert(path);
      growing.erase(path);
    }
    if (!args.watch) break;
    if (program.wants_more()) std::this_thread::sleep_for(std::chrono::duration<double>(args.interval));
  }
}

void find_in_stream(Program& program) {
  JpegStream stream(stdin);
  for (int64_t i = 0; program.wants_more(); ++i) {
    const std::string name = "stdin-" + std::to_string(i) + ".jpg";
    try {
      const std::optional<std::vector<uint8_t>> bytes = stream.next();
      if (!bytes) break;
      program.find(name, *bytes);
    } catch (const IoError& error) {
      program.refuse(name, error);
    }
    if (!stream.is_sound()) break;
  }
}

void run(const Arguments& args) {
  Program program(args);
  std::signal(SIGINT, [](int) { g_interrupted = 1; });
  if (args.input == "-") {
    find_in_stream(program);
  } else if (fs::is_directory(args.input)) {
    find_in_folder(program, args);
  } else {
    find_in_file(program, args.input);
  }
  if (program.broken() > 0) {
    std::fprintf(stderr, "detect: %lld of %lld files could not be read\n", static_cast<long long>(program.broken()),
                 static_cast<long long>(program.broken() + program.images()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: finding objects with a trained detector", run);
}
