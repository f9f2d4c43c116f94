// Runs the steps of a scenario one after the other and counts those that failed.
type Step = [name: string, run: () => Promise<void>];

// Ends the process: with 1 when a step failed. Its last line is `N passed, M failed`.
export async function runSteps(steps: Step[]): Promise<void> {
    let failed = 0;
    for (const [name, run] of steps) {
        try {
            await run();
        } catch (error) {
            failed++;
            console.log(`failed: ${name}:`, error);
        }
    }
    console.log(`${steps.length - failed} passed, ${failed} failed`);
    process.exit(failed ? 1 : 0); // not when the connections that are kept open end
}

// Every byte there is.
export const everyByte = Uint8Array.from({ length: 256 }, (_, i) => i);

// Keys that a client must encode once, and only once.
export const hardKeys = ['a/b', 'a%2Fb', 'a b', 'a+b', 'a?b', 'a#b', 'é', 'a.b', '~', '%'];

// What clients that follow the URL standard of browsers cannot send in a path, however it is written.
export const dotKeys = ['.', '..'];

// A number that a double does not hold.
export const beyondDouble = 9007199254740993n;

// The integer that stands as member `name` in JSON text: JSON.parse would round it.
export function integerIn(text: string, name: string): bigint {
    const digits = new RegExp(`"${name}":(-?[0-9]+)`).exec(text)?.[1];
    if (digits === undefined) {
        throw new Error(`no integer ${name} in ${text}`);
    }
    return BigInt(digits);
}
