USE shop;
UPDATE orders SET status = 'paid' WHERE id <= 100;
UPDATE products SET price = 3.10 WHERE name = 'Melon';
INSERT INTO customers (name, email) VALUES ('Barbara', 'barbara@example.com');
INSERT INTO orders (customer_id, product_id, quantity, ordered_at) VALUES (4, 3, 2, '2026-11-30 08:30:00.250');
DELETE FROM orders WHERE id = 500;
