// Writes what the package needs and the repository has elsewhere or can draw: LICENSE.txt and icon.png.
import { readFileSync, writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";

const folder = new URL("../", import.meta.url);
const licence = (name) => readFileSync(new URL(`../../${name}`, folder), "utf8");
writeFileSync(
    new URL("LICENSE.txt", folder),
    `At your option, the MIT license or the Apache License, Version 2.0.\n\n${licence("LICENSE-MIT")}\n${licence("LICENSE-APACHE")}`,
);

const SIZE = 128;

function isMark(x, y) {
    // A check mark: two bars that meet at (54, 88), each 14 wide.
    const distance = (x0, y0, x1, y1) => {
        const [dx, dy] = [x1 - x0, y1 - y0];
        const along = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy)));
        return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
    };
    return Math.min(distance(32, 66, 54, 88), distance(54, 88, 96, 42)) <= 7;
}

function isTile(x, y) {
    const radius = 24;
    const beyond = (at) => Math.max(radius - at, at - (SIZE - 1 - radius), 0);
    return Math.hypot(beyond(x), beyond(y)) <= radius;
}

const rows = Buffer.alloc(SIZE * (SIZE * 4 + 1));
for (let y = 0; y < SIZE; y += 1) {
    for (let x = 0; x < SIZE; x += 1) {
        const color = isMark(x, y) ? [255, 255, 255, 255] : isTile(x, y) ? [27, 94, 152, 255] : [0, 0, 0, 0];
        rows.set(color, y * (SIZE * 4 + 1) + 1 + x * 4);
    }
}

function chunk(kind, data) {
    const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
}

const header = Buffer.from([0, 0, 0, SIZE, 0, 0, 0, SIZE, 8, 6, 0, 0, 0]);
const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
writeFileSync(
    new URL("icon.png", folder),
    Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]),
);
