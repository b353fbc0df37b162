"""Loads the library, and a plugin that needs it, into Python: load_test.py LIBRARY PLUGIN [OTHER_LIBRARY...]."""
import _ctypes
import ctypes
import sys
import threading

library_path, plugin_path, *other_paths = sys.argv[1:]
for time in range(2):
    library = ctypes.CDLL(library_path)
    assert library._ZN6kusari11num_threadsEv() >= 1
    plugin = ctypes.CDLL(plugin_path)
    wrong = []
    threads = [threading.Thread(target=lambda: wrong.append(plugin.kusari_plugin_compute(0))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [0] * 8, wrong
    assert plugin.kusari_plugin_compute(4) == 0
    _ctypes.dlclose(plugin._handle)
    _ctypes.dlclose(library._handle)
for path in other_paths:
    ctypes.CDLL(path)
print("loaded twice")
