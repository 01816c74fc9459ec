"""redis-py's `Lock` and `tenure run` on the same name exclude each other, both ways.

`cargo xtask interop` sets TENURE (the command) and TENURE_STORE (the URL of a Redis).
"""

import os
import secrets
import subprocess
import unittest

import redis
from redis.exceptions import LockError, LockNotOwnedError

TENURE = os.environ["TENURE"]
URL = os.environ["TENURE_STORE"]
BUSY = 75
# No test waits this long unless it is about to fail.
PATIENCE = 30


def run(*args):
    """`tenure run` with these arguments, to its end."""
    return subprocess.run([TENURE, "run", "--store", URL, *args], timeout=PATIENCE).returncode


class Holder:
    """A `tenure run` that holds the lock until it is let go."""

    def __init__(self, name, *args):
        # The command says when it runs, and ends when its standard input does.
        command = ["sh", "-c", "echo held; cat"]
        self.process = subprocess.Popen(
            [TENURE, "run", "--store", URL, *args, name, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def until_held(self):
        line = self.process.stdout.readline()
        if line != b"held\n":
            raise AssertionError(f"tenure ended with {self.process.wait()} before it held the lock")
        return self

    def let_go(self):
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.let_go()
        self.process.stdout.close()


class RedisPy(unittest.TestCase):
    def setUp(self):
        self.client = redis.Redis.from_url(URL)
        self.addCleanup(self.client.close)
        # Braces and a blank: the name is the key as it stands, whatever it contains.
        self.name = f"inter{{op}} {secrets.token_hex(8)}"

    def lock(self, seconds=PATIENCE):
        return self.client.lock(self.name, timeout=seconds)

    def test_redis_py_keeps_tenure_out(self):
        with self.lock():
            self.assertEqual(run("--no-wait", self.name, "--", "true"), BUSY)
        self.assertEqual(run("--no-wait", self.name, "--", "true"), 0)

    def test_tenure_keeps_redis_py_out(self):
        with Holder(self.name).until_held() as holder:
            self.assertFalse(self.lock().acquire(blocking=False))
            self.assertEqual(holder.let_go(), 0)
        self.assertTrue(self.lock().acquire(blocking=False))

    def test_tenure_waits_for_redis_py_to_release(self):
        lock = self.lock()
        lock.acquire()
        with Holder(self.name, "--wait", f"{PATIENCE}s") as holder:
            lock.release()
            self.assertEqual(holder.until_held().let_go(), 0)

    def test_tenure_waits_for_the_lock_of_a_dead_redis_py_to_expire(self):
        self.lock(seconds=1).acquire()
        self.assertEqual(run("--wait", f"{PATIENCE}s", self.name, "--", "true"), 0)

    def test_redis_py_waits_for_tenure_to_release(self):
        with Holder(self.name).until_held() as holder:
            self.assertEqual(holder.let_go(), 0)
            self.assertTrue(self.lock().acquire(blocking_timeout=PATIENCE))

    def test_an_expired_redis_py_lock_neither_extends_nor_frees_what_tenure_holds(self):
        stale = self.lock(seconds=1)
        stale.acquire()
        with Holder(self.name, "--wait", f"{PATIENCE}s").until_held():
            with self.assertRaises(LockNotOwnedError):
                stale.extend(PATIENCE)
            with self.assertRaises(LockError):
                stale.release()
            self.assertFalse(self.lock().acquire(blocking=False))


if __name__ == "__main__":
    unittest.main(verbosity=2)
