"""A process that forks from two threads while it waits for a step of somebody who is stopped."""

import os
import signal
import threading
import time

import work

import frazil

order = work.order()
ids = frazil.open(order.url, order.scheme, timeout=30, block=1)
waiting = threading.Thread(target=ids)
waiting.start()
while "RegistryUnavailable" not in repr(ids._walk.keeper.policy.trouble):
    time.sleep(0.01)
message = str(ids._walk.keeper.policy.trouble)
forked = []


def fork():
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    forked.append(time.monotonic() - began)


time.sleep(0.2)  # so that the keeper waits again
forks = [threading.Thread(target=fork) for _ in range(2)]
for each in forks:
    each.start()
for each in forks:
    each.join()
soon = sum(took_s < 4 for took_s in forked)  # the holder would stay for ever
os.kill(order.holder, signal.SIGCONT)
waiting.join()
work.tell(message=message, forked_while_it_waited=soon, then=ids())
ids.close()
