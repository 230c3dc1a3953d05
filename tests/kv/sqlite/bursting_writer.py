"""A process that writes in bursts until it is killed, and tells what it was promised.

A line on standard output, for example `ack 17 /k3 put 5`: revision, key, operation, value. `seen` lines are what a
watch delivered. Each line goes out in one system call, before anything else happens.
"""

import asyncio
import os
import random
import sys

from watchkeeper.kv.sqlite import SQLiteKV


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


async def follow(kv: SQLiteKV) -> None:
    watch = await kv.watch(b"/")
    async for batch in watch:
        for event in batch.events:
            say(f"seen {event.kv.mod_revision} {event.kv.key.decode()} {event.type.value} {event.kv.value.decode()}")


async def write(kv: SQLiteKV, worker: int, chance: random.Random) -> None:
    number = 0
    while True:
        number += 1
        key = f"/w{worker}-{chance.randrange(5)}"
        current = (await kv.get(key.encode())).kv
        if current is not None and chance.random() < 0.25:
            result = await kv.optimistic_delete(key.encode(), current.mod_revision)
            say(f"ack {result.revision} {key} delete ")
        else:
            value = f"{os.getpid()}-{worker}-{number}" + "x" * chance.randrange(3000)
            expected = current.mod_revision if current is not None else 0
            result = await kv.optimistic_put(key.encode(), value.encode(), expected)
            say(f"ack {result.revision} {key} put {value}")
        assert result.succeeded
        if chance.random() < 0.05:
            await asyncio.sleep(chance.random() * 0.02)


async def main() -> None:
    kv = SQLiteKV.open(sys.argv[1])
    say(f"open {await kv.current_revision()}")
    chance = random.Random(int(sys.argv[2]))
    await asyncio.gather(follow(kv), *(write(kv, worker, chance) for worker in range(6)), compact(kv))


async def compact(kv: SQLiteKV) -> None:
    while len(sys.argv) > 3:
        await asyncio.sleep(0.001)
        revision = await kv.current_revision() - int(sys.argv[3])
        if revision > kv._compactor.compact_revision:
            await kv.compact(revision)


if __name__ == "__main__":
    asyncio.run(main())
